package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	policyv1client "k8s.io/client-go/kubernetes/typed/policy/v1"
	schedulingv1client "k8s.io/client-go/kubernetes/typed/scheduling/v1"
)

// client answers the API calls that a cycle makes and no others: the embedded interfaces are nil, so a call that nobody
// thought of panics instead of getting a made-up answer.
type client struct {
	kubernetes.Interface
	cluster *cluster
	caches  *caches
}

func (c *client) CoreV1() corev1client.CoreV1Interface { return coreClient{} }

func (c *client) PolicyV1() policyv1client.PolicyV1Interface { return policyClient{caches: c.caches} }

func (c *client) SchedulingV1() schedulingv1client.SchedulingV1Interface {
	return schedulingClient{classes: c.cluster.priorityClasses}
}

type coreClient struct{ corev1client.CoreV1Interface }

func (coreClient) Nodes() corev1client.NodeInterface { return nodeClient{} }

type nodeClient struct{ corev1client.NodeInterface }

// List is asked only when the cache found no node for the same selector, so there is none.
func (nodeClient) List(context.Context, metav1.ListOptions) (*v1.NodeList, error) {
	return &v1.NodeList{}, nil
}

type policyClient struct {
	policyv1client.PolicyV1Interface
	caches *caches
}

func (c policyClient) Evictions(string) policyv1client.EvictionInterface {
	return evictionClient{c.caches}
}

type evictionClient struct{ caches *caches }

func (c evictionClient) Evict(_ context.Context, eviction *policyv1.Eviction) error {
	return c.caches.evict(eviction.Namespace, eviction.Name)
}

type schedulingClient struct {
	schedulingv1client.SchedulingV1Interface
	classes map[string]*schedulingv1.PriorityClass
}

func (c schedulingClient) PriorityClasses() schedulingv1client.PriorityClassInterface {
	return priorityClassClient{classes: c.classes}
}

type priorityClassClient struct {
	schedulingv1client.PriorityClassInterface
	classes map[string]*schedulingv1.PriorityClass
}

func (c priorityClassClient) Get(
	_ context.Context, name string, _ metav1.GetOptions,
) (*schedulingv1.PriorityClass, error) {
	class, found := c.classes[name]
	if !found {
		return nil, apierrors.NewNotFound(schedulingv1.Resource("priorityclasses"), name)
	}
	return class, nil
}
