package main

import (
	"context"
	"fmt"

	promapi "github.com/prometheus/client_golang/api"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/events"

	"sigs.k8s.io/descheduler/pkg/api"
	"sigs.k8s.io/descheduler/pkg/descheduler/evictions"
	"sigs.k8s.io/descheduler/pkg/descheduler/metricscollector"
	nodeutil "sigs.k8s.io/descheduler/pkg/descheduler/node"
	"sigs.k8s.io/descheduler/pkg/features"
	"sigs.k8s.io/descheduler/pkg/framework/profile"
	"sigs.k8s.io/descheduler/pkg/framework/types"
)

// profileRun is one profile's two extension points.
type profileRun struct {
	deschedule, balance func(context.Context, []*v1.Node) *types.Status
}

// runCycle runs one descheduling cycle on fresh caches, set up and ordered as the descheduler's own loop does it. Errors
// are those of building the profiles; what plugins return is in the record.
func runCycle(objects *cluster, policy *api.DeschedulerPolicy, order ordering) (*record, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	noted := &record{evictions: []eviction{}, errors: []pluginError{}}

	caches, err := newCaches(objects, order)
	if err != nil {
		return nil, err
	}
	nodeSelector, err := policyNodeSelector(policy)
	if err == nil {
		err = caches.selectNodes(nodeSelector)
	}
	var profiles []profileRun
	var collector *metricscollector.MetricsCollector
	round := 0
	if err == nil {
		collector = newCollector(metricsClient{cluster: objects, round: &round}, caches, policy, nodeSelector)
		profiles, err = buildProfiles(ctx, caches, policy, collector, noted)
	}
	if err != nil {
		return nil, fmt.Errorf("failed to create new descheduler: %w", err)
	}
	if err := caches.fill(objects); err != nil {
		return nil, err
	}
	for ; collector != nil && round < objects.rounds(); round++ {
		if err := collector.Collect(ctx); err != nil {
			return nil, err
		}
	}
	return noted, runProfiles(ctx, caches, profiles)
}

func policyNodeSelector(policy *api.DeschedulerPolicy) (labels.Selector, error) {
	if policy.NodeSelector == nil {
		return labels.Everything(), nil
	}
	return labels.Parse(*policy.NodeSelector)
}

// newCollector returns nil unless the policy asks for the metrics server.
func newCollector(
	asked metricsClient, caches *caches, policy *api.DeschedulerPolicy, nodeSelector labels.Selector,
) *metricscollector.MetricsCollector {
	wanted := policy.MetricsCollector != nil && policy.MetricsCollector.Enabled
	for _, provider := range policy.MetricsProviders {
		wanted = wanted || provider.Source == api.KubernetesMetrics
	}
	if !wanted {
		return nil
	}
	return metricscollector.NewMetricsCollector(
		caches.factory.Core().V1().Nodes().Lister(), asked, nodeSelector)
}

func buildProfiles(
	ctx context.Context, caches *caches, policy *api.DeschedulerPolicy, collector *metricscollector.MetricsCollector,
	noted *record,
) ([]profileRun, error) {
	prometheus, err := newPrometheusClient(policy)
	if err != nil {
		return nil, err
	}
	evictor, err := evictions.NewPodEvictor(
		ctx, caches.client, &events.FakeRecorder{}, caches.factory.Core().V1().Pods().Informer(),
		features.DefaultMutableFeatureGate,
		evictions.NewOptions().
			WithPolicyGroupVersion("policy/v1").
			WithMaxPodsToEvictPerNode(policy.MaxNoOfPodsToEvictPerNode).
			WithMaxPodsToEvictPerNamespace(policy.MaxNoOfPodsToEvictPerNamespace).
			WithMaxPodsToEvictTotal(policy.MaxNoOfPodsToEvictTotal).
			WithEvictionFailureEventNotification(policy.EvictionFailureEventNotification).
			WithGracePeriodSeconds(policy.GracePeriodSeconds).
			WithDryRun(true),
	)
	if err != nil {
		return nil, err
	}
	var profiles []profileRun
	for i, config := range policy.Profiles {
		built, err := profile.NewProfile(
			ctx, config, noted.registry(config.Name),
			profile.WithClientSet(caches.client),
			profile.WithSharedInformerFactory(caches.factory),
			profile.WithPodEvictor(evictor),
			profile.WithGetPodsAssignedToNodeFnc(caches.podsOnNode),
			profile.WithMetricsCollector(collector),
			profile.WithPrometheusClient(func() promapi.Client { return prometheus }),
			profile.WithProfileInstanceID(fmt.Sprint(i)),
		)
		if err != nil {
			return nil, fmt.Errorf("unable to create %q profile: %w", config.Name, err)
		}
		profiles = append(profiles, profileRun{built.RunDeschedulePlugins, built.RunBalancePlugins})
	}
	return profiles, nil
}

// runProfiles runs all deschedule plugins of all profiles, then all balance plugins; fewer than two ready nodes end the
// cycle before it starts.
func runProfiles(ctx context.Context, caches *caches, profiles []profileRun) error {
	selected, err := caches.selectedNodes()
	if err != nil {
		return err
	}
	nodes, err := nodeutil.ReadyNodesFromInterfaces(selected)
	if err != nil || len(nodes) < 2 {
		return err
	}
	caches.order.sortNodes(nodes)
	for _, p := range profiles {
		p.deschedule(ctx, nodes)
	}
	for _, p := range profiles {
		p.balance(ctx, nodes)
	}
	return nil
}
