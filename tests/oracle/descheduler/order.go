package main

import (
	"cmp"
	"math/rand/v2"
	"slices"

	v1 "k8s.io/api/core/v1"

	podutil "sigs.k8s.io/descheduler/pkg/descheduler/pod"
)

// The orders in which plugins may find nodes, and the pods of a node: by name, shuffled at each look, shuffled but for
// favoured pods at the start or, backwards, at the end, or as the descheduler's own index happens to give them (neither
// sorted nor evenly shuffled, but at no extra cost). Favouring the pods of an outcome makes it likely where ties decide.
const (
	canonicalOrder = "canonical"
	randomOrder    = "random"
	firstOrder     = "first"
	lastOrder      = "last"
	upstreamOrder  = "upstream"
)

var orders = []string{canonicalOrder, randomOrder, firstOrder, lastOrder, upstreamOrder}

// ordering is one of the orders with the favoured pods, by namespace/name, and their places.
type ordering struct {
	name     string
	favoured map[string]int
}

func newOrdering(name string, favoured []string) ordering {
	o := ordering{name, map[string]int{}}
	for place, pod := range favoured {
		o.favoured[pod] = place
	}
	return o
}

func (o ordering) sortNodes(nodes []*v1.Node) {
	switch o.name {
	case canonicalOrder:
		slices.SortFunc(nodes, func(a, b *v1.Node) int { return cmp.Compare(a.Name, b.Name) })
	case randomOrder, firstOrder, lastOrder:
		rand.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	}
}

func (o ordering) sortPods(pods []*v1.Pod) {
	switch o.name {
	case canonicalOrder:
		slices.SortFunc(pods, func(a, b *v1.Pod) int {
			return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
		})
	case randomOrder, firstOrder, lastOrder:
		rand.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
	}
	switch o.name {
	case firstOrder:
		slices.SortStableFunc(pods, func(a, b *v1.Pod) int { return cmp.Compare(o.place(a), o.place(b)) })
	case lastOrder:
		slices.SortStableFunc(pods, func(a, b *v1.Pod) int { return cmp.Compare(o.place(b), o.place(a)) })
	}
}

func (o ordering) place(pod *v1.Pod) int {
	if place, favoured := o.favoured[pod.Namespace+"/"+pod.Name]; favoured {
		return place
	}
	return len(o.favoured)
}

func (o ordering) listing(listing podutil.GetPodsAssignedToNodeFunc) podutil.GetPodsAssignedToNodeFunc {
	if o.name == upstreamOrder {
		return listing
	}
	return func(node string, filter podutil.FilterFunc) ([]*v1.Pod, error) {
		pods, err := listing(node, filter)
		o.sortPods(pods)
		return pods, err
	}
}
