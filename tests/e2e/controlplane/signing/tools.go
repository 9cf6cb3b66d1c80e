//go:build tools

package tools

import (
	_ "github.com/distribution/distribution/v3/cmd/registry"
	_ "github.com/sigstore/cosign/v2/cmd/cosign"
)
