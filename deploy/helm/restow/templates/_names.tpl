{{- define "restow.name" -}}
{{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- /* The release alone where it already has the name of the chart in it. */ -}}
{{- define "restow.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{ default $full .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "restow.namespace" -}}
{{ default .Release.Namespace .Values.namespaceOverride }}
{{- end }}

{{- define "restow.serviceAccountName" -}}
{{ .Values.serviceAccount.name | default (ternary (include "restow.fullname" .) "default" .Values.serviceAccount.create) }}
{{- end }}

{{- define "restow.selectorLabels" -}}
app.kubernetes.io/name: {{ include "restow.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "restow.labels" -}}
{{ include "restow.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "restow.leaseName" -}}
{{ .Values.leaderElection.resourceName | default "descheduler" }}
{{- end }}

{{- /* The key that the Descheduler's chart misspelt goes first, as there. */ -}}
{{- define "restow.leaseNamespace" -}}
{{ .Values.leaderElection.resourceNamescape | default .Values.leaderElection.resourceNamespace | default "kube-system" }}
{{- end }}

{{- define "restow.elects" -}}
{{- if and (eq .Values.kind "Deployment") .Values.leaderElection.enabled }}true{{ end -}}
{{- end }}

{{- /* Whether the gate of steering is given by restow's own webhook. */ -}}
{{- define "restow.steersByWebhook" -}}
{{- if and .Values.steering.enabled (eq .Values.steering.by "webhook") }}true{{ end -}}
{{- end }}

{{- define "restow.steeringSecret" -}}
{{ .Values.steering.webhook.secretName | default "restow-steering-tls" }}
{{- end }}

{{- /* Whether the policy wants to know what pods really use. */ -}}
{{- define "restow.asksForUsage" -}}
{{- $policy := .Values.deschedulerPolicy | default dict -}}
{{- if dig "metricsCollector" "enabled" false $policy }}true{{ end -}}
{{- range $policy.metricsProviders }}{{ if eq .source "KubernetesMetrics" }}true{{ end }}{{ end -}}
{{- end }}
