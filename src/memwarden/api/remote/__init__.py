"""The verbs over HTTP: a warden whose store is behind a server (extra ``client``)."""
