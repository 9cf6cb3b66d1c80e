//go:build !kube133 && !kube134

package main

import fwk "k8s.io/kube-scheduler/framework"

// Types that had another home up to 1.34.
type (
	cycleState       = fwk.CycleState
	nodeInfo         = fwk.NodeInfo
	nominatingInfo   = fwk.NominatingInfo
	nodePluginScores = fwk.NodePluginScores
	preFilterResult  = fwk.PreFilterResult
)

const modeOverride = fwk.ModeOverride
