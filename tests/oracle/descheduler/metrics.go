package main

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/metrics/pkg/apis/metrics/v1beta1"
	metrics "k8s.io/metrics/pkg/client/clientset/versioned"
	metricsv1beta1 "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"
)

// metricsClient answers for the metrics server from the NodeMetrics and PodMetrics objects of the dump.
type metricsClient struct {
	metrics.Interface
	cluster *cluster
}

func (m metricsClient) MetricsV1beta1() metricsv1beta1.MetricsV1beta1Interface {
	return metricsGroup{cluster: m.cluster}
}

type metricsGroup struct {
	metricsv1beta1.MetricsV1beta1Interface
	cluster *cluster
}

func (m metricsGroup) NodeMetricses() metricsv1beta1.NodeMetricsInterface {
	return nodeMetrics{samples: m.cluster.nodeMetrics}
}

func (m metricsGroup) PodMetricses(namespace string) metricsv1beta1.PodMetricsInterface {
	return podMetrics{samples: m.cluster.podMetrics, namespace: namespace}
}

type nodeMetrics struct {
	metricsv1beta1.NodeMetricsInterface
	samples map[string]*v1beta1.NodeMetrics
}

func (n nodeMetrics) Get(_ context.Context, name string, _ metav1.GetOptions) (*v1beta1.NodeMetrics, error) {
	return sample(n.samples, name, "nodes")
}

type podMetrics struct {
	metricsv1beta1.PodMetricsInterface
	samples   map[string]*v1beta1.PodMetrics
	namespace string
}

func (p podMetrics) Get(_ context.Context, name string, _ metav1.GetOptions) (*v1beta1.PodMetrics, error) {
	return sample(p.samples, p.namespace+"/"+name, "pods")
}

func sample[T any](samples map[string]*T, key, resource string) (*T, error) {
	found, ok := samples[key]
	if !ok {
		return nil, apierrors.NewNotFound(v1beta1.Resource(resource), key)
	}
	return found, nil
}
