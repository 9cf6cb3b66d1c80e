package main

import (
	"fmt"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
)

// chooseGates turns off what only makes the scheduler hurry: preemption in the background, which would come at any time,
// and the reuse of results between pods alike (since 1.35), which would keep nodes from being scored.
func chooseGates() error {
	gates := utilfeature.DefaultMutableFeatureGate
	chosen := map[string]bool{}
	for _, gate := range []featuregate.Feature{features.SchedulerAsyncPreemption, "OpportunisticBatching"} {
		if _, known := gates.GetAll()[gate]; known {
			chosen[string(gate)] = false
		}
	}
	return gates.SetFromMap(chosen)
}

// loadConfig decodes, defaults and validates a KubeSchedulerConfiguration, YAML or JSON.
func loadConfig(text string) (*config.KubeSchedulerConfiguration, error) {
	if text == "" {
		return latest.Default()
	}
	object, kind, err := scheme.Codecs.UniversalDecoder().Decode([]byte(text), nil, nil)
	if err != nil {
		return nil, err
	}
	loaded, ok := object.(*config.KubeSchedulerConfiguration)
	if !ok {
		return nil, fmt.Errorf("%s is no KubeSchedulerConfiguration", kind)
	}
	loaded.APIVersion = kind.GroupVersion().String()
	if err := validation.ValidateKubeSchedulerConfiguration(loaded); err != nil {
		return nil, err
	}
	if len(loaded.Extenders) > 0 {
		return nil, fmt.Errorf("the configuration has extenders; this program calls none")
	}
	return loaded, nil
}

// visitAllNodes ends the sampling of nodes in large clusters.
func visitAllNodes(loaded *config.KubeSchedulerConfiguration) {
	all := int32(100)
	loaded.PercentageOfNodesToScore = &all
	for i := range loaded.Profiles {
		loaded.Profiles[i].PercentageOfNodesToScore = nil
	}
}
