package main

import (
	promapi "github.com/prometheus/client_golang/api"

	"sigs.k8s.io/descheduler/pkg/api"
)

// newPrometheusClient returns nil unless the policy names a Prometheus, as upstream has none then. The token that
// upstream would show stays out: whoever answers here asks for none.
func newPrometheusClient(policy *api.DeschedulerPolicy) (promapi.Client, error) {
	for _, provider := range policy.MetricsProviders {
		if provider.Source == api.PrometheusMetrics && provider.Prometheus != nil {
			return promapi.NewClient(promapi.Config{Address: provider.Prometheus.URL})
		}
	}
	return nil, nil
}
