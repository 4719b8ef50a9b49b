//! Whether the places that the settings name are there.

use std::path::Path;

use super::field;
use super::origin::Origin;
use super::{Listen, Problem, Settings, SettingsError};

impl Settings {
    /// Look at every place that is named: exported directories, files, directories of sockets.
    /// Whether a key or a certificate is any good is for those who load it to say.
    pub fn check_places(&self) -> Result<(), SettingsError> {
        let mut problems = Vec::new();
        let mut check = |section: &str, index: usize, name: &str, result: Result<(), String>| {
            if let Err(what) = result {
                problems.push(self.problem(section, index, name, what));
            }
        };
        for listen in &self.listen {
            check("", 0, "listen", socket(listen));
        }
        if let Some(path) = &self.key_file {
            check("", 0, "key_file", file(path));
        }
        if let Some(tls) = &self.tls {
            check("tls", 0, "certificate", file(&tls.certificate));
            check("tls", 0, "private_key", file(&tls.private_key));
            check("tls", 0, "client_ca", tls.client_ca.as_deref().map_or(Ok(()), file));
        }
        if let Some(path) = &self.layout.pvfs_config {
            check("layout", 0, "pvfs_config", file(path));
        }
        if let Some(path) = &self.layout.ceph_command {
            check("layout", 0, "ceph_command", file(path));
        }
        for (index, export) in self.exports.iter().enumerate() {
            match &export.servers {
                None => check("export", index, "path", directory(&export.path)),
                Some(servers) => {
                    let key = servers.key_file.as_deref().map_or(Ok(()), file);
                    check("export", index, "servers_key_file", key);
                }
            }
        }
        if problems.is_empty() {
            return Ok(());
        }
        Err(SettingsError { file: self.file.clone(), problems })
    }

    fn problem(&self, section: &str, index: usize, name: &str, what: String) -> Problem {
        let (line, what) = match self.origins.of(section, index, name) {
            Origin::Line(line) => (Some(line), what),
            Origin::Variable(name) => (None, format!("{what} (it comes from {name})")),
            Origin::Default => (None, what),
        };
        let field = field::find(section, name).map(|field| field.path());
        Problem { line, field: field.unwrap_or_default(), what }
    }
}

fn directory(path: &Path) -> Result<(), String> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(format!("{} is not a directory: only those can be exported", path.display())),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

fn file(path: &Path) -> Result<(), String> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_file() => Ok(()),
        Ok(_) => Err(format!("{} is not a file", path.display())),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

/// A socket is made by the agent, the directory it lies in is not.
fn socket(listen: &Listen) -> Result<(), String> {
    let Listen::Unix(path) = listen else { return Ok(()) };
    match path.parent().map(|parent| (parent, parent.is_dir())) {
        Some((parent, false)) => Err(format!(
            "there is no directory {}: make it, for example with mkdir -p",
            parent.display()
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(lines: &str) -> Settings {
        Settings::parse(lines, "agent.toml").expect("good settings")
    }

    #[test]
    fn places_that_are_there_pass() {
        let directory = tempfile::tempdir().expect("a directory");
        let place = directory.path().display();
        std::fs::write(directory.path().join("key"), "").expect("a file");
        let text = format!(
            "listen = [\"unix:{place}/agent.sock\"]\nkey_file = \"{place}/key\"\n\
             [[export]]\nname = \"a\"\npath = \"{place}\"\n"
        );
        assert_eq!(settings(&text).check_places(), Ok(()));
    }

    #[test]
    fn every_place_that_is_missing_is_named_with_its_line() {
        let text = "listen = [\"unix:/no/such/a.sock\"]\nkey_file = \"/proc\"\n\
                    [[export]]\nname = \"a\"\npath = \"/no/such\"\n\
                    [[export]]\nname = \"b\"\npath = \"/proc/version\"\n";
        let error = settings(text).check_places().expect_err("nothing is there");
        let lines: Vec<String> = error.to_string().lines().map(String::from).collect();
        assert_eq!(
            lines,
            [
                "agent.toml:1: listen: there is no directory /no/such: make it, for example with \
                 mkdir -p",
                "agent.toml:2: key_file: /proc is not a file",
                "agent.toml:5: export.path: /no/such: No such file or directory (os error 2)",
                "agent.toml:8: export.path: /proc/version is not a directory: only those can be \
                 exported",
            ]
        );
    }
}
