// What NodeResourceTopologyMatch of kubernetes-sigs/scheduler-plugins says of nodes for pods, asked in process.
//
// Standard input has a question in each line: nodes, their NodeResourceTopologies, pods, and the plugin's arguments. Standard
// output has an answer for each: for every pod, by node, the reason with which it is refused, empty if it is not, and the
// score. The plugin reads the topologies from an API server, as it does without a cache: here one that serves just these.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"log"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"sigs.k8s.io/scheduler-plugins/apis/config"
	v1 "sigs.k8s.io/scheduler-plugins/apis/config/v1"
	"sigs.k8s.io/scheduler-plugins/pkg/noderesourcetopology"
)

type question struct {
	Nodes      []corev1.Node                    `json:"nodes"`
	Topologies []json.RawMessage                `json:"topologies"`
	Pods       []corev1.Pod                     `json:"pods"`
	Args       v1.NodeResourceTopologyMatchArgs `json:"args"`
}

type answer struct {
	Pods  [][]verdict `json:"pods,omitempty"`
	Error string      `json:"error,omitempty"`
}

// verdict is what is said of one node.
type verdict struct {
	Refused string `json:"refused"`
	Score   int64  `json:"score"`
}

// handle is all of the framework that the plugin needs without a cache.
type handle struct {
	framework.Handle
	config *rest.Config
}

func (h handle) KubeConfig() *rest.Config { return h.config }

type plugin interface {
	framework.FilterPlugin
	framework.ScorePlugin
}

func main() {
	klog.LogToStderr(false)
	klog.SetOutput(discard{})
	server := newServer()
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			log.Fatal(err)
		}
		if err := out.Encode(answered(server, asked)); err != nil {
			log.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func answered(server *server, asked question) answer {
	if err := server.serve(asked.Topologies); err != nil {
		return answer{Error: err.Error()}
	}
	asking, err := newPlugin(server, asked.Args)
	if err != nil {
		return answer{Error: err.Error()}
	}
	result := answer{Pods: [][]verdict{}}
	for i := range asked.Pods {
		verdicts := []verdict{}
		for j := range asked.Nodes {
			verdicts = append(verdicts, judged(asking, &asked.Pods[i], &asked.Nodes[j]))
		}
		result.Pods = append(result.Pods, verdicts)
	}
	return result
}

func newPlugin(server *server, args v1.NodeResourceTopologyMatchArgs) (plugin, error) {
	v1.SetDefaults_NodeResourceTopologyMatchArgs(&args)
	internal := &config.NodeResourceTopologyMatchArgs{}
	if err := v1.Convert_v1_NodeResourceTopologyMatchArgs_To_config_NodeResourceTopologyMatchArgs(&args, internal, nil); err != nil {
		return nil, err
	}
	made, err := noderesourcetopology.New(context.Background(), internal, handle{config: server.config()})
	if err != nil {
		return nil, err
	}
	return made.(plugin), nil
}

func judged(asking plugin, pod *corev1.Pod, node *corev1.Node) verdict {
	info := framework.NewNodeInfo()
	info.SetNode(node)
	ctx, state := context.Background(), framework.NewCycleState()
	if status := asking.Filter(ctx, state, pod, info); !status.IsSuccess() {
		return verdict{Refused: status.Message()}
	}
	score, status := asking.Score(ctx, state, pod, info)
	if !status.IsSuccess() {
		return verdict{Refused: status.Message()}
	}
	return verdict{Score: score}
}
