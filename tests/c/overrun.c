/* Has the library write past a buffer of the caller: the sanitizers must see it. */
#include <stdlib.h>

#include <kubelease.h>

int main(void)
{
    kl_elector_config *config = malloc(sizeof *config / 2);
    return config == NULL || kl_elector_config_default(config, sizeof *config) != KL_OK;
}
