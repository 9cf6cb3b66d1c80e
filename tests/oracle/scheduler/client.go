package main

import (
	"context"
	"encoding/json"
	"reflect"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// client answers the one API call that a scheduling cycle makes here, and no others: the embedded interfaces are nil, so
// a call that nobody thought of panics instead of getting a made-up answer.
type client struct {
	kubernetes.Interface
	informers *informerSet
	frozen    bool // take no change
}

func (c *client) CoreV1() corev1client.CoreV1Interface { return coreClient{client: c} }

type coreClient struct {
	corev1client.CoreV1Interface
	client *client
}

func (c coreClient) Pods(namespace string) corev1client.PodInterface {
	return podClient{client: c.client, namespace: namespace}
}

func (c coreClient) Events(string) corev1client.EventInterface { return eventClient{} }

// eventClient drops events.
type eventClient struct{ corev1client.EventInterface }

func (eventClient) CreateWithEventNamespace(event *v1.Event) (*v1.Event, error) { return event, nil }

func (eventClient) UpdateWithEventNamespace(event *v1.Event) (*v1.Event, error) { return event, nil }

func (eventClient) PatchWithEventNamespace(event *v1.Event, _ []byte) (*v1.Event, error) {
	return event, nil
}

type podClient struct {
	corev1client.PodInterface
	client    *client
	namespace string
}

// Patch changes the status of a pending pod and lets the scheduler know, as the API server does: the condition of a pod
// that did not fit, and its nominated node or the loss of it.
func (c podClient) Patch(
	_ context.Context, name string, _ types.PatchType, patch []byte, _ metav1.PatchOptions, _ ...string,
) (*v1.Pod, error) {
	before, err := c.client.informers.Core().V1().Pods().Lister().Pods(c.namespace).Get(name)
	if err != nil || c.client.frozen {
		return before, err
	}
	after, err := patched(before, patch)
	if err == nil {
		c.client.informers.byType[reflect.TypeFor[*v1.Pod]()].update(before, after)
	}
	return after, err
}

// patched returns the pod with the patch on it. The resource version grows, or the scheduler takes no notice.
func patched(pod *v1.Pod, patch []byte) (*v1.Pod, error) {
	text, err := json.Marshal(pod)
	if err != nil {
		return nil, err
	}
	if text, err = strategicpatch.StrategicMergePatch(text, patch, v1.Pod{}); err != nil {
		return nil, err
	}
	after := &v1.Pod{}
	if err := json.Unmarshal(text, after); err != nil {
		return nil, err
	}
	after.ResourceVersion += "+"
	return after, nil
}
