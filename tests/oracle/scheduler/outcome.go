package main

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// outcome is what the scheduler says about one pod. Lists of nodes are sorted.
type outcome struct {
	Pod      string                      `json:"pod"`
	Gated    string                      `json:"gated,omitempty"` // why the pod is not in the queue; nothing else is set
	Feasible []string                    `json:"feasible"`
	Rejected map[string]*rejection       `json:"rejected"` // nodes that were looked at and did not pass
	Allowed  []string                    `json:"allowed"`  // the only nodes that PreFilter plugins let be looked at; null is all
	Scores   map[string]map[string]int64 `json:"scores"`   // node, plugin: normalised, weighted; and "total"
	Best     []string                    `json:"best"`     // the nodes with the highest total
	Node     string                      `json:"node"`     // the first of the best

	PreFilter *rejection `json:"preFilter,omitempty"` // of the pod, before any node was looked at
	Reason    string     `json:"reason"`              // of the condition PodScheduled: Unschedulable or SchedulerError
	Message   string     `json:"message"`             // of that condition

	NominatedNode  string                `json:"nominatedNode"`  // the first of the best candidates
	Candidates     map[string]*candidate `json:"candidates"`     // nodes where preemption would help
	BestCandidates []string              `json:"bestCandidates"` // those among which preemption may choose

	Victims []string `json:"victims,omitempty"` // of the scheduler's own loop: what it preempted in that cycle

	Devices map[string][]string `json:"devices,omitempty"` // what its claims have once it is placed: request and device
}

func newOutcome(pod *v1.Pod) *outcome {
	return &outcome{
		Pod:            keyOf(pod),
		Feasible:       []string{},
		Rejected:       map[string]*rejection{},
		Scores:         map[string]map[string]int64{},
		Best:           []string{},
		Candidates:     map[string]*candidate{},
		BestCandidates: []string{},
	}
}

// rejection is what the plugin that rejected a node, or the pod, said.
type rejection struct {
	Plugin  string   `json:"plugin"`
	Reasons []string `json:"reasons"`
	Code    string   `json:"code"` // U: Unschedulable, UAU: UnschedulableAndUnresolvable
}

var codes = map[fwk.Code]string{fwk.Unschedulable: "U", fwk.UnschedulableAndUnresolvable: "UAU"}

func newRejection(status *fwk.Status) *rejection {
	code, short := codes[status.Code()]
	if !short {
		code = status.Code().String()
	}
	return &rejection{Plugin: status.Plugin(), Reasons: status.Reasons(), Code: code}
}

// consider runs a cycle for the pod and tells what was said in it.
func (s *scheduling) consider(info *framework.QueuedPodInfo, scoresFor string) (*attempt, *outcome) {
	r := &recorder{Framework: s.Profiles[info.Pod.Spec.SchedulerName], filtered: map[string]*fwk.Status{}}
	watch := s.watches[info.Pod.Spec.SchedulerName]
	watch.forget()
	a := s.attempt(info, r)
	if a.err == nil && r.scores == nil && scoresFor == scoresForAll {
		r.score(a)
	}
	out := newOutcome(info.Pod)
	out.tellNodes(r)
	if a.err == nil {
		out.tellChoice(r)
	} else {
		out.tellFailure(a, r, watch)
	}
	return a, out
}

func (o *outcome) tellNodes(r *recorder) {
	for node, status := range r.filtered {
		if status.IsSuccess() {
			o.Feasible = append(o.Feasible, node)
		} else {
			o.Rejected[node] = newRejection(status)
		}
	}
	slices.Sort(o.Feasible)
	if r.allowed != nil {
		o.Allowed = sets.List(r.allowed)
	}
}

// tellChoice fills in the scores and the best nodes; all are equal where none was scored.
func (o *outcome) tellChoice(r *recorder) {
	highest := int64(0)
	for _, node := range r.scores {
		highest = max(highest, node.TotalScore)
		o.Scores[node.Name] = map[string]int64{"total": node.TotalScore}
		for _, score := range node.Scores {
			o.Scores[node.Name][score.Name] = score.Score
		}
	}
	o.Best = slices.DeleteFunc(slices.Clone(o.Feasible), func(node string) bool {
		return len(r.scores) > 0 && o.Scores[node]["total"] < highest
	})
	o.Node = o.Best[0]
}

func (o *outcome) tellFailure(a *attempt, r *recorder, watch *preemptionWatch) {
	o.Message = a.err.Error()
	o.Reason = "SchedulerError"
	if a.status().IsRejected() {
		o.Reason = "Unschedulable"
	}
	if r.preFilter != nil {
		o.PreFilter = newRejection(r.preFilter)
	}
	if a.nominated != nil {
		o.NominatedNode = a.nominated.NominatedNodeName
	}
	watch.tellCandidates(o)
}
