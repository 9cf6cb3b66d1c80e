//go:build !kube133 && !kube134 && !kube135 && !kube137

package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	client36 "k8s.io/client-go/kubernetes/typed/scheduling/v1alpha2"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

type podGroup = schedulingv1alpha2.PodGroup

var groupGates = []string{"GenericWorkload", "GangScheduling"}

// restIsTriedAtOnce says whether the pods of a group that got no node with the others are in the next cycle.
const restIsTriedAtOnce = false

// orderDomains does nothing: groups that have to share a domain are not asked about.
func (w *groupWatch) orderDomains() {}

func (g *groupObjects) fill(informers *informerSet) {
	deliver(informers, informers.Scheduling().V1alpha2().PodGroups().Informer(), g.groups)
}

func noteVictims(plugin *defaultpreemption.DefaultPreemption, note func(*v1.Pod)) {
	plugin.Executor.PreemptPod = func(
		_ context.Context, _ preemption.Candidate, _ preemption.ExecutorPreemptor, victim *v1.Pod, _ string,
	) error {
		note(victim)
		return nil
	}
}

func (c *client) SchedulingV1alpha2() client36.SchedulingV1alpha2Interface { return groupsClient{} }

type groupsClient struct {
	client36.SchedulingV1alpha2Interface
}

func (groupsClient) PodGroups(string) client36.PodGroupInterface { return groupClient{} }

// groupClient drops what the scheduler says of a group.
type groupClient struct{ client36.PodGroupInterface }

func (groupClient) Patch(
	context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string,
) (*podGroup, error) {
	return &podGroup{}, nil
}
