//go:build kube133

package main

import "k8s.io/kubernetes/pkg/scheduler/framework"

type (
	cycleState       = *framework.CycleState
	nodeInfo         = *framework.NodeInfo
	nominatingInfo   = framework.NominatingInfo
	nodePluginScores = framework.NodePluginScores
	preFilterResult  = framework.PreFilterResult
)

const modeOverride = framework.ModeOverride
