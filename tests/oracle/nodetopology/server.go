package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

const (
	group      = "topology.node.k8s.io"
	version    = "v1alpha2"
	collection = "/apis/" + group + "/" + version + "/noderesourcetopologies/"
)

// server has topologies by name, and what a client asks before it asks for one.
type server struct {
	*httptest.Server
	topologies map[string]json.RawMessage
}

func newServer() *server {
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(s.answer))
	return s
}

func (s *server) config() *rest.Config {
	return &rest.Config{Host: s.URL, QPS: -1}
}

func (s *server) serve(topologies []json.RawMessage) error {
	s.topologies = map[string]json.RawMessage{}
	for _, each := range topologies {
		var named metav1.PartialObjectMetadata
		if err := json.Unmarshal(each, &named); err != nil {
			return err
		}
		s.topologies[named.Name] = each
	}
	return nil
}

func (s *server) answer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	name, asked := strings.CutPrefix(r.URL.Path, collection)
	found, known := s.topologies[name]
	switch {
	case asked && known:
		_, _ = w.Write(found)
	case r.URL.Path == "/apis/"+group+"/"+version:
		_ = json.NewEncoder(w).Encode(resources())
	case r.URL.Path == "/apis/"+group:
		_ = json.NewEncoder(w).Encode(groupOf())
	case r.URL.Path == "/apis":
		list := metav1.APIGroupList{Groups: []metav1.APIGroup{groupOf()}}
		_ = json.NewEncoder(w).Encode(list)
	default:
		w.WriteHeader(http.StatusNotFound)
		status := metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound}
		_ = json.NewEncoder(w).Encode(status)
	}
}

func groupOf() metav1.APIGroup {
	served := metav1.GroupVersionForDiscovery{GroupVersion: group + "/" + version, Version: version}
	return metav1.APIGroup{
		TypeMeta:         metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"},
		Name:             group,
		Versions:         []metav1.GroupVersionForDiscovery{served},
		PreferredVersion: served,
	}
}

func resources() metav1.APIResourceList {
	return metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: group + "/" + version,
		APIResources: []metav1.APIResource{{
			Name: "noderesourcetopologies", SingularName: "noderesourcetopology", Kind: "NodeResourceTopology", Verbs: metav1.Verbs{"get"},
		}},
	}
}
