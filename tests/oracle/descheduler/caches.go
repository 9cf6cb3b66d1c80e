package main

import (
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	nodeutil "sigs.k8s.io/descheduler/pkg/descheduler/node"
	podutil "sigs.k8s.io/descheduler/pkg/descheduler/pod"
)

const selectedNodesIndex = "selected"

// caches are the informer caches of one cycle. The informers never start: fill puts the objects straight into their
// stores, and an eviction takes the pod straight out.
type caches struct {
	factory    informers.SharedInformerFactory
	client     *client
	order      ordering
	podsOnNode podutil.GetPodsAssignedToNodeFunc
}

func newCaches(objects *cluster, order ordering) (*caches, error) {
	c := &caches{order: order}
	c.client = &client{cluster: objects, caches: c}
	c.factory = informers.NewSharedInformerFactory(c.client, 0)
	listing, err := podutil.BuildGetPodsAssignedToNodeFunc(c.factory.Core().V1().Pods().Informer())
	c.podsOnNode = order.listing(listing)
	return c, err
}

// selectNodes prepares the index of the nodes that the policy's nodeSelector names.
func (c *caches) selectNodes(selector labels.Selector) error {
	return nodeutil.AddNodeSelectorIndexer(c.factory.Core().V1().Nodes().Informer(), selectedNodesIndex, selector)
}

func (c *caches) selectedNodes() ([]any, error) {
	return c.factory.Core().V1().Nodes().Informer().GetIndexer().ByIndex(selectedNodesIndex, selectedNodesIndex)
}

// fill loads every kind of object that a plugin may look up in a cache.
func (c *caches) fill(objects *cluster) error {
	core := c.factory.Core().V1()
	for _, err := range []error{
		replace(core.Pods().Informer(), objects.pods),
		replace(core.Nodes().Informer(), objects.nodes),
		replace(core.Namespaces().Informer(), objects.namespaces),
		replace(core.PersistentVolumeClaims().Informer(), objects.claims),
		replace(c.factory.Policy().V1().PodDisruptionBudgets().Informer(), objects.budgets),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

func replace[T any](informer cache.SharedIndexInformer, objects []T) error {
	untyped := make([]any, len(objects))
	for i, object := range objects {
		untyped[i] = object
	}
	return informer.GetIndexer().Replace(untyped, "")
}

// evict removes a pod; one that is gone already is not found, as the API server would say.
func (c *caches) evict(namespace, name string) error {
	pods := c.factory.Core().V1().Pods().Informer().GetIndexer()
	pod, exists, err := pods.GetByKey(namespace + "/" + name)
	if err != nil {
		return err
	}
	if !exists {
		return apierrors.NewNotFound(v1.Resource("pods"), name)
	}
	return pods.Delete(pod)
}
