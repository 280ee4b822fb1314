// Package js holds the JavaScript client as files, for a node that serves them
// to browsers. The modules need no build step; README.md describes them.
package js

import "embed"

// Modules are the client's ES modules by name, such as client.js.
//
//go:embed *.js
var Modules embed.FS
