package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// recorder is a profile that notes what its plugins said. The scheduler throws that away once it has a node.
type recorder struct {
	framework.Framework
	preFilter *fwk.Status            // of a pod that was rejected before any node was looked at
	allowed   sets.Set[string]       // the only nodes to look at; nil is all
	filtered  map[string]*fwk.Status // by node
	visited   []nodeInfo
	scores    []nodePluginScores
}

func (r *recorder) RunPreFilterPlugins(
	ctx context.Context, state cycleState, pod *v1.Pod,
) (*preFilterResult, *fwk.Status, sets.Set[string]) {
	result, status, plugins := r.Framework.RunPreFilterPlugins(ctx, state, pod)
	if !status.IsSuccess() {
		r.preFilter = status
	} else if !result.AllNodes() {
		r.allowed = result.NodeNames
	}
	return result, status, plugins
}

func (r *recorder) RunFilterPluginsWithNominatedPods(
	ctx context.Context, state cycleState, pod *v1.Pod, node nodeInfo,
) *fwk.Status {
	status := r.Framework.RunFilterPluginsWithNominatedPods(ctx, state, pod, node)
	r.filtered[node.Node().Name] = status
	r.visited = append(r.visited, node)
	return status
}

func (r *recorder) RunScorePlugins(
	ctx context.Context, state cycleState, pod *v1.Pod, nodes []nodeInfo,
) ([]nodePluginScores, *fwk.Status) {
	scores, status := r.Framework.RunScorePlugins(ctx, state, pod, nodes)
	r.scores = scores
	return scores, status
}

// score scores the feasible nodes where the scheduler saw no need to. Where it cannot there are no scores, and no error:
// the scheduler would not have noticed.
func (r *recorder) score(a *attempt) {
	feasible := []nodeInfo{}
	for _, node := range r.visited {
		if r.filtered[node.Node().Name].IsSuccess() {
			feasible = append(feasible, node)
		}
	}
	if r.RunPreScorePlugins(a.scheduling.ctx, a.state, a.info.Pod, feasible).IsSuccess() {
		r.RunScorePlugins(a.scheduling.ctx, a.state, a.info.Pod, feasible)
	}
}
