//go:build kube134

package main

import (
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

type (
	cycleState       = fwk.CycleState
	nodeInfo         = fwk.NodeInfo
	nominatingInfo   = framework.NominatingInfo
	nodePluginScores = framework.NodePluginScores
	preFilterResult  = framework.PreFilterResult
)

const modeOverride = framework.ModeOverride
