//go:build !kube133 && !kube134 && !kube135

package main

import (
	"cmp"
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	schedulinginformers "k8s.io/client-go/informers/scheduling"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// groupObjects are the PodGroups of a dump.
type groupObjects struct{ groups []*podGroup }

func (g *groupObjects) decode(kind string, text []byte) error {
	if kind != "PodGroup" {
		return nil
	}
	return add(&g.groups, text)
}

func (s *informerSet) Scheduling() schedulinginformers.Interface {
	return schedulinginformers.New(s, metav1.NamespaceAll, nil)
}

// chooseGroups lets the scheduler decide about groups, or not, and about those that have to share a domain.
func chooseGroups(wanted, domains bool) error {
	chosen := map[string]bool{"TopologyAwareWorkloadScheduling": domains}
	for _, gate := range groupGates {
		chosen[gate] = wanted
	}
	return utilfeature.DefaultMutableFeatureGate.SetFromMap(chosen)
}

// groupWatch notes what the scheduler's own loop does.
type groupWatch struct {
	scheduling *scheduling
	order      []string // pods, as they are first heard of
	before     int      // how many of them were heard of in earlier cycles
	outcomes   map[string]*outcome
	tries      map[string][]outcome // of each pod in the cycle, one for each domain where it was tried
	preempted  []string
}

// askLoop runs the scheduler's own loop until each pod that may be tried was, and tells what became of each.
func (s *scheduling) askLoop() ([]*outcome, error) {
	watch := &groupWatch{scheduling: s, outcomes: map[string]*outcome{}}
	watch.listen()
	watch.orderDomains()
	s.orderGroups()
	for range 2 * len(s.SchedulingQueue.PodsInActiveQ()) {
		if s.allHeardOf(watch) {
			break
		}
		watch.before, watch.preempted, watch.tries = len(watch.order), []string{}, map[string][]outcome{}
		s.ScheduleOne(s.ctx)
		if len(watch.order) > watch.before {
			watch.outcomes[watch.order[watch.before]].Victims = watch.preempted
			watch.forgetThoseTriedAgain()
		}
	}
	outcomes := []*outcome{}
	for _, pod := range watch.order {
		outcomes = append(outcomes, watch.outcomes[pod])
	}
	return append(outcomes, s.gated()...), nil
}

// orderGroups lets the pods of a group have been queued as they were made. Until a gang has enough pods, the scheduler holds
// them back, and then takes them as they come out of a map.
func (s *scheduling) orderGroups() {
	pods, err := s.informers.Core().V1().Pods().Lister().List(labels.Everything())
	exitOn(err)
	slices.SortFunc(pods, func(a, b *v1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(keyOf(a), keyOf(b)))
	})
	for at, pod := range pods {
		if queued, waits := s.queued(pod.Namespace, pod.Name); waits && pod.Spec.SchedulingGroup != nil {
			first := time.Unix(int64(at), 0)
			queued.InitialAttemptTimestamp = &first
		}
	}
}

func (s *scheduling) allHeardOf(watch *groupWatch) bool {
	for _, pod := range s.SchedulingQueue.PodsInActiveQ() {
		if _, known := watch.outcomes[keyOf(pod)]; !known {
			return false
		}
	}
	return true
}

func (w *groupWatch) listen() {
	s := w.scheduling
	schedulePod, handleFailure := s.SchedulePod, s.FailureHandler
	s.SchedulePod = func(
		ctx context.Context, profile framework.Framework, state fwk.CycleState, info *framework.QueuedPodInfo,
	) (scheduler.ScheduleResult, error) {
		s.watches[info.Pod.Spec.SchedulerName].forget()
		r := &recorder{Framework: profile, filtered: map[string]*fwk.Status{}}
		result, err := schedulePod(ctx, r, state, info)
		found := newOutcome(info.Pod)
		found.tellNodes(r)
		if err == nil {
			found.tellChoice(r)
			result.SuggestedHost = found.Node
		}
		w.tries[keyOf(info.Pod)] = append(w.tries[keyOf(info.Pod)], *found)
		w.hear(info.Pod, found).Node = found.Node
		return result, err
	}
	s.FailureHandler = func(
		ctx context.Context, profile framework.Framework, info *framework.QueuedPodInfo, status *fwk.Status,
		nominating *fwk.NominatingInfo, start time.Time,
	) {
		told := w.hear(info.Pod, newOutcome(info.Pod))
		told.Node, told.Message, told.Reason = "", status.Message(), "SchedulerError"
		if status.IsRejected() {
			told.Reason = "Unschedulable"
		}
		if nominating != nil {
			told.NominatedNode = nominating.NominatedNodeName
		}
		handleFailure(ctx, profile, info, status, nominating, start)
	}
	for _, profile := range s.Profiles {
		if plugin := defaultPreemption(profile); plugin != nil {
			noteVictims(plugin, func(pod *v1.Pod) { w.preempted = append(w.preempted, keyOf(pod)) })
		}
	}
}

// forgetThoseTriedAgain forgets what a cycle said of pods that are in the next one already.
func (w *groupWatch) forgetThoseTriedAgain() {
	anyPlaced := slices.ContainsFunc(w.order[w.before:], func(pod string) bool { return w.outcomes[pod].Node != "" })
	if !restIsTriedAtOnce || !anyPlaced {
		return
	}
	cycle := slices.Clone(w.order[w.before:])
	w.order = slices.DeleteFunc(w.order, func(pod string) bool {
		again := slices.Contains(cycle, pod) && w.outcomes[pod].Node == ""
		if again {
			delete(w.outcomes, pod)
		}
		return again
	})
}

// hear keeps what is said of a pod first, and returns that. What is said in later cycles goes nowhere.
func (w *groupWatch) hear(pod *v1.Pod, said *outcome) *outcome {
	known, seen := w.outcomes[keyOf(pod)]
	switch {
	case !seen:
		w.order = append(w.order, keyOf(pod))
		w.outcomes[keyOf(pod)] = said
		return said
	case slices.Contains(w.order[:w.before], keyOf(pod)):
		return said
	}
	return known
}

// Bind is the end of a binding cycle: the pod is assumed to be there already.
func (c podClient) Bind(context.Context, *v1.Binding, metav1.CreateOptions) error { return nil }
