//go:build !kube133 && !kube134 && !kube135 && !kube137

// What differs from minor to minor in the scheduler's own interfaces: here that of 1.36, which build.py links unless it is
// told another one.

package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

func (s *informerSet) InformerName() *cache.InformerName { return nil }

func recordNothing(string) events.EventRecorderLogger { return &events.FakeRecorder{} }

func (s *scheduling) schedulePod(
	profile framework.Framework, state cycleState, info *framework.QueuedPodInfo,
) (scheduler.ScheduleResult, error) {
	return s.SchedulePod(s.ctx, profile, state, info)
}

// pop takes one pod off the queue.
func (s *scheduling) pop(pod *v1.Pod) *framework.QueuedPodInfo {
	return s.SchedulingQueue.PopSpecificPod(klog.Background(), pod)
}

func keepVictims(plugin *defaultpreemption.DefaultPreemption) {
	plugin.Executor.PreemptPod = func(
		context.Context, preemption.Candidate, preemption.ExecutorPreemptor, *v1.Pod, string,
	) error {
		return nil
	}
}

// next takes the first pod off the queue.
func (s *scheduling) next() (*framework.QueuedPodInfo, error) {
	return s.SchedulingQueue.Pop(klog.Background())
}

// queued returns a pod that waits.
func (s *scheduling) queued(namespace, name string) (*framework.QueuedPodInfo, bool) {
	return s.SchedulingQueue.GetPod(name, namespace)
}

func (s *scheduling) addUnschedulable(info *framework.QueuedPodInfo) error {
	return s.SchedulingQueue.AddUnschedulableIfNotPresent(klog.Background(), info, s.SchedulingQueue.SchedulingCycle())
}

func orderVictims(plugin *defaultpreemption.DefaultPreemption) {
	plugin.MoreImportantPod = byNameAtLast(plugin.MoreImportantPod, keyOf)
}

func (w *preemptionWatch) SelectVictimsOnNode(
	ctx context.Context, state cycleState, pod *v1.Pod, node nodeInfo, budgets []*policyv1.PodDisruptionBudget,
) ([]*v1.Pod, int, *fwk.Status) {
	pods, violations, status := w.Interface.SelectVictimsOnNode(ctx, state, pod, node, budgets)
	w.note(node.Node().Name, pods, violations, status)
	return pods, violations, status
}
