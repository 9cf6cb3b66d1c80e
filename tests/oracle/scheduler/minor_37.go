//go:build kube137

package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

// next takes the first pod off the queue.
func (s *scheduling) next() (*framework.QueuedPodInfo, error) {
	entity, err := s.SchedulingQueue.Pop(klog.Background())
	if err != nil {
		return nil, err
	}
	return entity.(*framework.QueuedPodInfo), nil
}

// queued returns a pod that waits.
func (s *scheduling) queued(namespace, name string) (*framework.QueuedPodInfo, bool) {
	return s.SchedulingQueue.GetPod(name, namespace, nil)
}

// pop takes one pod off the queue.
func (s *scheduling) pop(pod *v1.Pod) *framework.QueuedPodInfo {
	info, _ := s.queued(pod.Namespace, pod.Name)
	s.SchedulingQueue.Delete(klog.Background(), pod)
	return info
}

func (s *scheduling) addUnschedulable(info *framework.QueuedPodInfo) error {
	queue := s.SchedulingQueue
	return queue.AddUnschedulablePodIfNotPresent(klog.Background(), info, queue.SchedulingCycle())
}

func keepVictims(plugin *defaultpreemption.DefaultPreemption) {
	plugin.Executor.PreemptPod = func(
		context.Context, preemption.Candidate, preemption.ExecutorPreemptor, *v1.Pod, string,
	) (bool, error) {
		return false, nil
	}
}

func orderVictims(plugin *defaultpreemption.DefaultPreemption) {
	name := func(victim preemption.Victim) string { return keyOf(victim.Pods()[0].GetPod()) }
	plugin.MoreImportantVictim = byNameAtLast(plugin.MoreImportantVictim, name)
}

func (w *preemptionWatch) SelectVictimsOnNode(
	ctx context.Context, state cycleState, pod *v1.Pod, node nodeInfo, possible []*preemption.DomainVictim,
	budgets []*policyv1.PodDisruptionBudget,
) ([]*v1.Pod, int, *fwk.Status) {
	pods, violations, status := w.Interface.SelectVictimsOnNode(ctx, state, pod, node, possible, budgets)
	w.note(node.Node().Name, pods, violations, status)
	return pods, violations, status
}

// taintRules give devices further taints.
type taintRules struct{ rules []*resourcev1.DeviceTaintRule }

func (t *taintRules) decode(text []byte) error { return add(&t.rules, text) }

func (t *taintRules) fill(informers *informerSet) {
	deliver(informers, informers.Resource().V1().DeviceTaintRules().Informer(), t.rules)
}
