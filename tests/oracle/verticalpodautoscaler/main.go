// The pod that the admission controller of the VerticalPodAutoscaler makes of a new one, by its own code.
//
// Standard input has a question in each line: {"pod": Pod, "autoscaler": VerticalPodAutoscaler, "limitRanges": [LimitRange]}.
// Standard output has an answer for each: {"pod": Pod} or {"error": "..."}. The autoscaler is the one that controls the pod.
package main

import (
	"bufio"
	"encoding/json"
	"log"
	"os"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/admission-controller/resource/pod/patch"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/admission-controller/resource/pod/recommendation"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/limitrange"
	vpautil "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/vpa"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
)

type question struct {
	Pod         corev1.Pod                  `json:"pod"`
	Autoscaler  vpav1.VerticalPodAutoscaler `json:"autoscaler"`
	LimitRanges []corev1.LimitRange         `json:"limitRanges"`
}

type answer struct {
	Pod   *corev1.Pod `json:"pod,omitempty"`
	Error string      `json:"error,omitempty"`
}

func main() {
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
	pod, err := admitted(asked)
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Pod: pod}
}

// admitted applies the patches that the webhook would answer with.
func admitted(asked question) (*corev1.Pod, error) {
	limits, err := limitsOf(asked.LimitRanges)
	if err != nil {
		return nil, err
	}
	provider := recommendation.NewProvider(limits, vpautil.NewCappingRecommendationProcessor(limits))
	calculator := patch.NewResourceUpdatesCalculator(provider, resource.QuantityValue{})
	records, err := calculator.CalculatePatches(&asked.Pod, &asked.Autoscaler)
	if err != nil {
		return nil, err
	}
	return patched(&asked.Pod, records)
}

// limitsOf is upstream's calculator, with an informer that is filled and never started.
func limitsOf(ranges []corev1.LimitRange) (limitrange.LimitRangeCalculator, error) {
	factory := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	limits, err := limitrange.NewLimitsRangeCalculator(factory)
	if err != nil {
		return nil, err
	}
	store := factory.Core().V1().LimitRanges().Informer().GetStore()
	for i := range ranges {
		if err := store.Add(&ranges[i]); err != nil {
			return nil, err
		}
	}
	return limits, nil
}

func patched(pod *corev1.Pod, records any) (*corev1.Pod, error) {
	// A pod without annotations has nothing to which the webhook's patch could add one; upstream creates the map first.
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{"": ""}
	}
	text, err := json.Marshal(pod)
	if err != nil {
		return nil, err
	}
	operations, err := json.Marshal(records)
	if err != nil {
		return nil, err
	}
	steps, err := jsonpatch.DecodePatch(operations)
	if err != nil {
		return nil, err
	}
	text, err = steps.Apply(text)
	if err != nil {
		return nil, err
	}
	made := &corev1.Pod{}
	return made, json.Unmarshal(text, made)
}
