//go:build kube135

package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	schedulingv1alpha1 "k8s.io/api/scheduling/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	schedulinginformers "k8s.io/client-go/informers/scheduling"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

// groupObjects are the Workloads of a dump.
type groupObjects struct{ workloads []*schedulingv1alpha1.Workload }

func (g *groupObjects) decode(kind string, text []byte) error {
	if kind != "Workload" {
		return nil
	}
	return add(&g.workloads, text)
}

func (g *groupObjects) fill(informers *informerSet) {
	deliver(informers, informers.Scheduling().V1alpha1().Workloads().Informer(), g.workloads)
}

func (s *informerSet) Scheduling() schedulinginformers.Interface {
	return schedulinginformers.New(s, metav1.NamespaceAll, nil)
}

// chooseGroups lets the scheduler mind Workloads, or not. Then no status is written of a pod that waits on its node, which
// would come at any time.
func chooseGroups(wanted, _ bool) error {
	return utilfeature.DefaultMutableFeatureGate.SetFromMap(map[string]bool{
		"GenericWorkload": wanted, "GangScheduling": wanted, "NominatedNodeNameForExpectation": !wanted,
	})
}

// gangWatch notes what the scheduler's own loop does: of each pod, what came of its last attempt.
type gangWatch struct {
	scheduling *scheduling
	order      []string // pods, as they were tried last
	outcomes   map[string]*outcome
	preempted  []string
	tries      int
}

// askLoop runs the scheduler's own loop until nothing is left to try, and tells what became of each pod. One that waits on
// its node for others is nominated for it.
func (s *scheduling) askLoop() ([]*outcome, error) {
	watch := &gangWatch{scheduling: s, outcomes: map[string]*outcome{}}
	watch.listen()
	s.queueAsTheyWereMade()
	for len(s.SchedulingQueue.PodsInActiveQ()) > 0 {
		if watch.tries++; watch.tries > 1000 {
			return nil, errors.New("the loop does not end")
		}
		watch.preempted = []string{}
		s.ScheduleOne(s.ctx)
		watch.outcomes[watch.order[len(watch.order)-1]].Victims = watch.preempted
	}
	watch.tellWaiting()
	outcomes := []*outcome{}
	for _, pod := range watch.order {
		outcomes = append(outcomes, watch.outcomes[pod])
	}
	return append(outcomes, s.gated()...), nil
}

// queueAsTheyWereMade lets pods of gangs wait as if their gang had been complete from the start. Until it is, the scheduler
// holds them back, and then takes them as they come out of a map.
func (s *scheduling) queueAsTheyWereMade() {
	waiting := s.SchedulingQueue.PodsInActiveQ()
	slices.SortFunc(waiting, func(a, b *v1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(keyOf(a), keyOf(b)))
	})
	for _, pod := range waiting {
		s.SchedulingQueue.Delete(pod)
	}
	for _, pod := range waiting {
		s.SchedulingQueue.Add(klog.Background(), pod)
	}
}

func (w *gangWatch) listen() {
	s := w.scheduling
	schedulePod, handleFailure := s.SchedulePod, s.FailureHandler
	s.SchedulePod = func(
		ctx context.Context, profile framework.Framework, state fwk.CycleState, pod *v1.Pod,
	) (scheduler.ScheduleResult, error) {
		s.watches[pod.Spec.SchedulerName].forget()
		r := &recorder{Framework: profile, filtered: map[string]*fwk.Status{}}
		result, err := schedulePod(ctx, r, state, pod)
		found := newOutcome(pod)
		found.tellNodes(r)
		if err == nil {
			found.tellChoice(r)
			result.SuggestedHost = found.Node
		}
		w.hear(found)
		return result, err
	}
	s.FailureHandler = func(
		ctx context.Context, profile framework.Framework, info *framework.QueuedPodInfo, status *fwk.Status,
		nominating *fwk.NominatingInfo, start time.Time,
	) {
		told := w.outcomes[keyOf(info.Pod)]
		told.Node, told.Message = "", status.Message()
		if nominating != nil {
			told.NominatedNode = nominating.NominatedNodeName
		}
		handleFailure(ctx, profile, info, status, nominating, start)
	}
	for _, profile := range s.Profiles {
		if plugin := defaultPreemption(profile); plugin != nil {
			plugin.Evaluator.PreemptPod = func(
				_ context.Context, _ preemption.Candidate, _ *v1.Pod, victim *v1.Pod, _ string,
			) error {
				w.preempted = append(w.preempted, keyOf(victim))
				return nil
			}
		}
	}
}

// hear keeps what an attempt says of a pod, instead of what an earlier one said.
func (w *gangWatch) hear(said *outcome) {
	w.order = slices.DeleteFunc(w.order, func(pod string) bool { return pod == said.Pod })
	w.order = append(w.order, said.Pod)
	w.outcomes[said.Pod] = said
}

// tellWaiting tells which pods wait on their node, and lets them go, so that nothing of this scheduler stays.
func (w *gangWatch) tellWaiting() {
	s, gone := w.scheduling, make(chan struct{})
	s.FailureHandler = func(
		context.Context, framework.Framework, *framework.QueuedPodInfo, *fwk.Status, *fwk.NominatingInfo, time.Time,
	) {
		gone <- struct{}{}
	}
	waiting := []fwk.WaitingPod{}
	for _, profile := range s.Profiles {
		profile.IterateOverWaitingPods(func(pod fwk.WaitingPod) {
			if len(pod.GetPendingPlugins()) > 0 {
				waiting = append(waiting, pod)
			}
		})
	}
	for _, pod := range waiting {
		told := w.outcomes[keyOf(pod.GetPod())]
		told.NominatedNode, told.Node = told.Node, ""
		pod.Reject("", "asked enough")
		<-gone
	}
}

// Bind is the end of a binding cycle: the pod is assumed to be there already.
func (c podClient) Bind(context.Context, *v1.Binding, metav1.CreateOptions) error { return nil }
