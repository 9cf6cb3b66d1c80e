package main

import (
	"cmp"
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

// candidate is a node where the pod would fit without these pods, the most important first.
type candidate struct {
	Victims       []string `json:"victims"`
	PDBViolations int64    `json:"pdbViolations"`
}

// preemptionWatch stands between the evaluator and the plugin DefaultPreemption. It notes the dry runs, has every node
// tried, and breaks ties by name where the evaluator leaves them to chance.
type preemptionWatch struct {
	preemption.Interface
	unwatched preemption.Evaluator
	victims   map[string]*extenderv1.Victims // by node, of dry runs that found some
	best      []string
}

// keepVictims makes preemption go without the deletion of its victims.
func (s *scheduling) keepVictims() {
	for _, profile := range s.Profiles {
		if plugin := defaultPreemption(profile); plugin != nil {
			keepVictims(plugin)
		}
	}
}

// watchPreemption puts a watch into each profile that preempts.
func (s *scheduling) watchPreemption() {
	for name, profile := range s.Profiles {
		watch := &preemptionWatch{}
		s.watches[name] = watch
		if plugin := defaultPreemption(profile); plugin != nil {
			watch.Interface, watch.unwatched = plugin, *plugin.Evaluator
			plugin.Evaluator.Interface = watch
			orderVictims(plugin)
		}
	}
}

func defaultPreemption(profile framework.Framework) *defaultpreemption.DefaultPreemption {
	for _, plugin := range profile.PreEnqueuePlugins() {
		if found, ok := plugin.(*defaultpreemption.DefaultPreemption); ok {
			return found
		}
	}
	return nil
}

// byNameAtLast orders victims of equal importance by name; the plugin leaves their order to its sort.
func byNameAtLast[V any](moreImportant func(a, b V) bool, name func(V) string) func(a, b V) bool {
	return func(a, b V) bool {
		if moreImportant(a, b) || moreImportant(b, a) {
			return moreImportant(a, b)
		}
		return cmp.Less(name(a), name(b))
	}
}

func (w *preemptionWatch) forget() { w.victims, w.best = map[string]*extenderv1.Victims{}, nil }

func (w *preemptionWatch) GetOffsetAndNumCandidates(nodes int32) (int32, int32) { return 0, nodes }

// note keeps what the dry run on a node found.
func (w *preemptionWatch) note(node string, pods []*v1.Pod, violations int, status *fwk.Status) {
	if status.IsSuccess() && len(pods) > 0 {
		w.victims[node] = &extenderv1.Victims{Pods: pods, NumPDBViolations: int64(violations)}
	}
}

// OrderedScoreFuncs is asked where there are several candidates. The first of the best by name gets the only point.
func (w *preemptionWatch) OrderedScoreFuncs(
	ctx context.Context, victims map[string]*extenderv1.Victims,
) []func(string) int64 {
	w.best = w.ties(ctx, victims)
	return []func(string) int64{func(node string) int64 {
		if node == w.best[0] {
			return 1
		}
		return 0
	}}
}

// ties returns the nodes that the evaluator may choose, sorted. It chooses one; another is as good if the evaluator
// prefers it once its victims start a moment later, which is what the evaluator looks at last.
func (w *preemptionWatch) ties(ctx context.Context, victims map[string]*extenderv1.Victims) []string {
	all := []preemption.Candidate{}
	for node, onNode := range victims {
		all = append(all, dryRun{node, onNode})
	}
	chosen := w.unwatched.SelectCandidate(ctx, all)
	best := []string{chosen.Name()}
	for _, other := range all {
		pair := []preemption.Candidate{chosen, dryRun{other.Name(), aMomentLater(other.Victims())}}
		if other.Name() != chosen.Name() && w.unwatched.SelectCandidate(ctx, pair).Name() == other.Name() {
			best = append(best, other.Name())
		}
	}
	slices.Sort(best)
	return best
}

// dryRun is a candidate as the evaluator wants it.
type dryRun struct {
	node    string
	victims *extenderv1.Victims
}

func (d dryRun) Name() string { return d.node }

// NumPodGroupDisruptions is asked since 1.37.
func (d dryRun) NumPodGroupDisruptions() int { return 0 }

func (d dryRun) Victims() *extenderv1.Victims { return d.victims }

func aMomentLater(victims *extenderv1.Victims) *extenderv1.Victims {
	later := &extenderv1.Victims{NumPDBViolations: victims.NumPDBViolations}
	for _, pod := range victims.Pods {
		moved := *pod
		moved.Status.StartTime = &metav1.Time{Time: pod.Status.StartTime.Add(time.Nanosecond)}
		later.Pods = append(later.Pods, &moved)
	}
	return later
}

// tellCandidates fills in what the dry runs found. The evaluator looks for the best only where there are two.
func (w *preemptionWatch) tellCandidates(o *outcome) {
	for node, victims := range w.victims {
		found := &candidate{Victims: []string{}, PDBViolations: victims.NumPDBViolations}
		for _, pod := range victims.Pods {
			found.Victims = append(found.Victims, keyOf(pod))
		}
		o.Candidates[node] = found
	}
	if w.best != nil {
		o.BestCandidates = w.best
	} else if o.NominatedNode != "" {
		o.BestCandidates = []string{o.NominatedNode}
	}
}
