//! Logs in, scenarios out, and back: importers, exporters, masking.
