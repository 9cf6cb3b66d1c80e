package main

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	"sigs.k8s.io/scheduler-plugins/pkg/coscheduling/core"
)

type question struct {
	Nodes  []corev1.Node       `json:"nodes"`
	Groups []v1alpha1.PodGroup `json:"groups"`
	Pods   []corev1.Pod        `json:"pods"`
}

type answer struct {
	Pods []verdict `json:"pods"`
}

type verdict struct {
	Name    string `json:"name"`
	Refused string `json:"refused"`
	Permit  string `json:"permit"`
}

func answered(asked question) (answer, error) {
	manager, err := newManager(asked)
	if err != nil {
		return answer{}, err
	}
	said := answer{Pods: []verdict{}}
	ctx := context.Background()
	for i := range asked.Pods {
		pod := &asked.Pods[i]
		if pod.Spec.NodeName != "" {
			continue
		}
		found := verdict{Name: pod.Name}
		if err := manager.PreFilter(ctx, pod); err != nil {
			found.Refused = err.Error()
		} else {
			found.Permit = string(manager.Permit(ctx, framework.NewCycleState(), pod))
		}
		said.Pods = append(said.Pods, found)
	}
	return said, nil
}

// newManager knows the pods, and by their events those that have a node.
func newManager(asked question) (*core.PodGroupManager, error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	groups := fake.NewClientBuilder().WithScheme(scheme)
	for i := range asked.Groups {
		groups = groups.WithObjects(&asked.Groups[i])
	}
	pods := informers.NewSharedInformerFactory(clientset.NewSimpleClientset(), 0).Core().V1().Pods()
	timeout := time.Minute
	nodes := newLister(asked)
	manager := core.NewPodGroupManager(groups.Build(), nodes, &timeout, pods)
	placed := core.AddPodFactory(manager)
	for i := range asked.Pods {
		if err := pods.Informer().GetStore().Add(&asked.Pods[i]); err != nil {
			return nil, err
		}
		placed(&asked.Pods[i])
	}
	return manager, nil
}

// lister has nodes with their pods, in the order of the question.
type lister struct {
	nodes []*framework.NodeInfo
}

func newLister(asked question) *lister {
	found := &lister{}
	for i := range asked.Nodes {
		info := framework.NewNodeInfo()
		info.SetNode(&asked.Nodes[i])
		for j := range asked.Pods {
			pod := &asked.Pods[j]
			over := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
			if pod.Spec.NodeName == asked.Nodes[i].Name && !over {
				info.AddPod(pod)
			}
		}
		found.nodes = append(found.nodes, info)
	}
	return found
}

func (l *lister) NodeInfos() framework.NodeInfoLister       { return l }
func (l *lister) StorageInfos() framework.StorageInfoLister { return nil }

func (l *lister) List() ([]*framework.NodeInfo, error) { return l.nodes, nil }

func (l *lister) HavePodsWithAffinityList() ([]*framework.NodeInfo, error) { return nil, nil }

func (l *lister) HavePodsWithRequiredAntiAffinityList() ([]*framework.NodeInfo, error) {
	return nil, nil
}

func (l *lister) Get(name string) (*framework.NodeInfo, error) {
	for _, each := range l.nodes {
		if each.Node().Name == name {
			return each, nil
		}
	}
	return nil, nil
}
