//go:build kube137

package main

import (
	"cmp"
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// inOrder is a profile that tries the domains of a group by name, and of the best takes the first by name; the scheduler
// has them in the order of a map, and draws one of the best.
type inOrder struct {
	framework.Framework
	watch *groupWatch
}

func (w *groupWatch) orderDomains() {
	for name, profile := range w.scheduling.Profiles {
		w.scheduling.Profiles[name] = &inOrder{profile, w}
	}
}

func (p *inOrder) RunPlacementGeneratePlugins(
	ctx context.Context, state fwk.PodGroupCycleState, group fwk.PodGroupInfo, nodes []fwk.NodeInfo,
) ([]*fwk.Placement, *fwk.Status) {
	placements, status := p.Framework.RunPlacementGeneratePlugins(ctx, state, group, nodes)
	slices.SortFunc(placements, byName)
	return placements, status
}

func (p *inOrder) RunPlacementScorePlugins(
	ctx context.Context, state fwk.PodGroupCycleState, group fwk.PodGroupInfo, assignments []*fwk.PodGroupAssignments,
	states []fwk.PlacementCycleState,
) ([]fwk.PlacementPluginScores, *fwk.Status) {
	scores, status := p.Framework.RunPlacementScorePlugins(ctx, state, group, assignments, states)
	slices.SortFunc(scores, func(a, b fwk.PlacementPluginScores) int { return byName(a.Placement, b.Placement) })
	for at := range scores {
		scores[at].TotalScore = scores[at].TotalScore*int64(len(scores)) - int64(at)
	}
	return scores, status
}

// RunPermitPlugins is asked once a group has its nodes: what was said of the pod in their domain is what counts.
func (p *inOrder) RunPermitPlugins(
	ctx context.Context, state fwk.CycleState, pod *v1.Pod, node string,
) (map[string]time.Duration, *fwk.Status) {
	told := p.watch.hear(pod, newOutcome(pod))
	for _, tried := range p.watch.tries[keyOf(pod)] {
		if tried.Node == node {
			*told = tried
		}
	}
	return p.Framework.RunPermitPlugins(ctx, state, pod, node)
}

func byName(a, b *fwk.Placement) int { return cmp.Compare(a.Name, b.Name) }
