package main

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/metrics/pkg/apis/metrics/v1beta1"
	metrics "k8s.io/metrics/pkg/client/clientset/versioned"
	metricsv1beta1 "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"
)

// metricsClient answers for the metrics server from the NodeMetrics and PodMetrics objects of the dump. Of a node with
// several samples it tells in each round the next one, and the last one from then on.
type metricsClient struct {
	metrics.Interface
	cluster *cluster
	round   *int
}

func (m metricsClient) MetricsV1beta1() metricsv1beta1.MetricsV1beta1Interface {
	return metricsGroup{cluster: m.cluster, round: *m.round}
}

type metricsGroup struct {
	metricsv1beta1.MetricsV1beta1Interface
	cluster *cluster
	round   int
}

func (m metricsGroup) NodeMetricses() metricsv1beta1.NodeMetricsInterface {
	return nodeMetrics{samples: m.cluster.nodeMetrics, round: m.round}
}

func (m metricsGroup) PodMetricses(namespace string) metricsv1beta1.PodMetricsInterface {
	return podMetrics{samples: m.cluster.podMetrics, namespace: namespace}
}

type nodeMetrics struct {
	metricsv1beta1.NodeMetricsInterface
	samples map[string][]*v1beta1.NodeMetrics
	round   int
}

func (n nodeMetrics) Get(_ context.Context, name string, _ metav1.GetOptions) (*v1beta1.NodeMetrics, error) {
	samples, err := sample(n.samples, name, "nodes")
	if err != nil {
		return nil, err
	}
	return samples[min(n.round, len(samples)-1)], nil
}

type podMetrics struct {
	metricsv1beta1.PodMetricsInterface
	samples   map[string]*v1beta1.PodMetrics
	namespace string
}

func (p podMetrics) Get(_ context.Context, name string, _ metav1.GetOptions) (*v1beta1.PodMetrics, error) {
	return sample(p.samples, p.namespace+"/"+name, "pods")
}

func sample[T any](samples map[string]T, key, resource string) (T, error) {
	found, ok := samples[key]
	if !ok {
		return found, apierrors.NewNotFound(v1beta1.Resource(resource), key)
	}
	return found, nil
}
