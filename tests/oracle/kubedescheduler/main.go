// The policy that OpenShift's descheduler operator makes of a KubeDescheduler, by its own code.
//
// Standard input has a question in each line: {"resource": KubeDescheduler, "namespaces": [...], "scheduler": "..."}.
// Standard output has an answer for each: {"policy": "..."} or {"error": "..."}. The cluster is one in which every profile
// can be used: there is a Route to Prometheus, a node for virtual machines, and nobody asks for PSI.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"log"
	"os"
	_ "unsafe" // for go:linkname: what makes the policy is not exported.

	configv1 "github.com/openshift/api/config/v1"
	routev1 "github.com/openshift/api/route/v1"
	configfake "github.com/openshift/client-go/config/clientset/versioned/fake"
	configinformers "github.com/openshift/client-go/config/informers/externalversions"
	routefake "github.com/openshift/client-go/route/clientset/versioned/fake"
	routeinformers "github.com/openshift/client-go/route/informers/externalversions"
	deschedulerv1 "github.com/openshift/cluster-kube-descheduler-operator/pkg/apis/descheduler/v1"
	operatorfake "github.com/openshift/cluster-kube-descheduler-operator/pkg/generated/clientset/versioned/fake"
	operatorinformers "github.com/openshift/cluster-kube-descheduler-operator/pkg/generated/informers/externalversions"
	"github.com/openshift/cluster-kube-descheduler-operator/pkg/operator"
	"github.com/openshift/library-go/pkg/operator/events"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/clock"
)

const namespace = "openshift-kube-descheduler-operator"

//go:linkname manageConfigMap github.com/openshift/cluster-kube-descheduler-operator/pkg/operator.(*TargetConfigReconciler).manageConfigMap
func manageConfigMap(*operator.TargetConfigReconciler, *deschedulerv1.KubeDescheduler) (*corev1.ConfigMap, bool, error)

type question struct {
	Resource   deschedulerv1.KubeDescheduler `json:"resource"`
	Namespaces []string                      `json:"namespaces"`
	Scheduler  string                        `json:"scheduler"`
}

type answer struct {
	Policy string `json:"policy,omitempty"`
	Error  string `json:"error,omitempty"`
}

func main() {
	if err := os.Setenv("EXPERIMENTAL_DISABLE_PSI_CHECK", "true"); err != nil {
		log.Fatal(err)
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			log.Fatal(err)
		}
		if err := out.Encode(answered(asked)); err != nil {
			log.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
}

func answered(asked question) answer {
	config, _, err := manageConfigMap(reconciler(asked), &asked.Resource)
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Policy: config.Data["policy.yaml"]}
}

// reconciler is upstream's, with informers that are filled and never started.
func reconciler(asked question) *operator.TargetConfigReconciler {
	var objects []runtime.Object
	for _, name := range asked.Namespaces {
		labels := map[string]string{"openshift.io/cluster-monitoring": "true"}
		objects = append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
	}
	kube := fake.NewClientset(objects...)
	core := informers.NewSharedInformerFactory(kube, 0)
	config := configinformers.NewSharedInformerFactory(configfake.NewSimpleClientset(), 0)
	route := routeinformers.NewSharedInformerFactory(routefake.NewSimpleClientset(), 0)
	client := operatorfake.NewSimpleClientset()
	own := operatorinformers.NewSharedInformerFactory(client, 0).Kubedeschedulers().V1().KubeDeschedulers()
	recorder := events.NewInMemoryRecorder("comparison", clock.RealClock{})
	made := operator.NewTargetConfigReconciler(
		context.Background(), "image", "image", client.KubedeschedulersV1(), own, nil, kube, nil, config, route, core, recorder,
	)
	for _, each := range objects {
		keep(core.Core().V1().Namespaces().Informer().GetIndexer().Add(each))
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"kubevirt.io/schedulable": "true"}}}
	keep(core.Core().V1().Nodes().Informer().GetIndexer().Add(node))
	scheduler := &configv1.Scheduler{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}}
	scheduler.Spec.Profile = configv1.SchedulerProfile(asked.Scheduler)
	keep(config.Config().V1().Schedulers().Informer().GetIndexer().Add(scheduler))
	prometheus := &routev1.Route{ObjectMeta: metav1.ObjectMeta{Name: "prometheus-k8s", Namespace: "openshift-monitoring"}}
	prometheus.Status.Ingress = []routev1.RouteIngress{{Host: "prometheus.example.com"}}
	keep(route.Route().V1().Routes().Informer().GetIndexer().Add(prometheus))
	return made
}

func keep(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
