package cluster

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What candidates of all kinds need, watch mode included.
var electing = rbacv1.Role{
	ObjectMeta: metav1.ObjectMeta{Name: "electing"},
	Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"},
		Verbs: []string{"get", "create", "update", "patch", "watch", "list"},
	}},
}

// Grant lets a user take part in elections of a namespace.
func (c *Cluster) Grant(ctx context.Context, namespace, user string) error {
	rbac := c.Admin.RbacV1()
	_, err := rbac.Roles(namespace).Create(ctx, &electing, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	binding := rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "electing-" + user},
		Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}},
		RoleRef:    rbacv1.RoleRef{Kind: "Role", APIGroup: rbacv1.GroupName, Name: electing.Name},
	}
	_, err = rbac.RoleBindings(namespace).Create(ctx, &binding, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// Revoke takes that right away: from then on the user's requests are answered 403.
func (c *Cluster) Revoke(ctx context.Context, namespace, user string) error {
	name := "electing-" + user
	return c.Admin.RbacV1().RoleBindings(namespace).Delete(ctx, name, metav1.DeleteOptions{})
}
