package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/snowraft/snowraft/internal/rpc"
)

//go:embed assets
var assetFiles embed.FS

// assetsPath is the prefix of asset paths. A hash of all assets and the name of one asset follow it. Browsers keep an asset
// until an upgrade changes the hash.
const assetsPath = root + "/assets/"

var assetTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

// assets holds the files that pages load.
type assets struct {
	prefix string // assetsPath and the hash
	files  map[string][]byte
}

func loadAssets() (*assets, error) {
	a := &assets{files: make(map[string][]byte)}
	names, err := fs.Glob(assetFiles, "assets/*")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	hash := sha256.New()
	for _, name := range names {
		content, err := assetFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		_, _ = fmt.Fprintf(hash, "%s %d\n%s", name, len(content), content)
		a.files[path.Base(name)] = content
	}
	a.prefix = assetsPath + hex.EncodeToString(hash.Sum(nil)[:8]) + "/"
	return a, nil
}

// serve answers with an asset. A request with another version's hash gets the present asset, which browsers must not store.
func (a *assets) serve(w http.ResponseWriter, r *http.Request) error {
	name := path.Base(r.URL.Path)
	content, ok := a.files[name]
	if !ok || strings.Count(r.URL.Path, "/") != strings.Count(a.prefix, "/") {
		err := rpc.NewError(rpc.UnknownEndpoint, fmt.Sprintf("path %s does not exist", r.URL.Path))
		refuse(w, http.StatusNotFound, err)
		return err
	}
	if strings.HasPrefix(r.URL.Path, a.prefix) {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	w.Header().Set("Content-Type", assetTypes[path.Ext(name)])
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	return nil
}
