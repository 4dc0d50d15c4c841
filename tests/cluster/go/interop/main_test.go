package main

import "testing"

func TestACircuitPassesEachDirectionSoManyTimesByEachKind(t *testing.T) {
	const nodes, rounds = 4, 2
	plan := circuit(nodes, rounds)
	if len(plan) != 2*rounds*nodes*(nodes-1) {
		t.Fatal(len(plan))
	}
	count := map[handOver]int{}
	at := 0
	for _, over := range plan {
		if over.from != at {
			t.Fatalf("%d leads, and %d hands over", at, over.from)
		}
		at = over.to
		count[over]++
	}
	for over, n := range count {
		if n != rounds {
			t.Fatal(over, n)
		}
	}
}
