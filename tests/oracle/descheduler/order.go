package main

import (
	"cmp"
	"math/rand/v2"
	"slices"

	v1 "k8s.io/api/core/v1"

	podutil "sigs.k8s.io/descheduler/pkg/descheduler/pod"
)

// The orders in which plugins may find nodes, and the pods of a node: by name, shuffled at each look, or as the
// descheduler's own index happens to give them (neither sorted nor evenly shuffled, but at no extra cost).
const (
	canonicalOrder = "canonical"
	randomOrder    = "random"
	upstreamOrder  = "upstream"
)

func orderNodes(nodes []*v1.Node, order string) {
	switch order {
	case canonicalOrder:
		slices.SortFunc(nodes, func(a, b *v1.Node) int { return cmp.Compare(a.Name, b.Name) })
	case randomOrder:
		rand.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	}
}

func orderPods(pods []*v1.Pod, order string) {
	switch order {
	case canonicalOrder:
		slices.SortFunc(pods, func(a, b *v1.Pod) int {
			return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
		})
	case randomOrder:
		rand.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
	}
}

func orderedListing(listing podutil.GetPodsAssignedToNodeFunc, order string) podutil.GetPodsAssignedToNodeFunc {
	if order == upstreamOrder {
		return listing
	}
	return func(node string, filter podutil.FilterFunc) ([]*v1.Pod, error) {
		pods, err := listing(node, filter)
		orderPods(pods, order)
		return pods, err
	}
}
