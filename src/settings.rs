//! The agent's settings: one TOML file, every field with meaning, default and bound.
//!
//! `Settings::read` takes a file and the environment: the variable named in the table of fields
//! ([`field`]) overrules the file; an empty one counts as not set. After that no text is parsed and
//! no default is invented. `Settings::parse` looks at nothing but its text, and `check_places` at
//! nothing but the places that the settings name.

mod data;
mod describe;
mod error;
mod export;
pub mod field;
mod layout;
mod limits;
mod listen;
mod nearest;
mod network;
mod origin;
mod place;
mod places;
mod scalar;
mod scheduler;
mod section;
mod servers;
mod telemetry;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use toml::de::DeTable;

use origin::Origins;
use section::{Reader, Section};

pub use data::DataPath;
pub use error::{Problem, SettingsError};
pub use export::{Export, Squash};
pub use layout::LayoutSettings;
pub use limits::Limits;
pub use listen::{Listen, PORT, Transport};
pub use network::Network;
pub use place::AgentPlace;
pub use scheduler::SchedulerSettings;
pub use servers::ServerSettings;
pub use telemetry::{TelemetrySettings, address};

/// What an agent is to do.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where clients connect; at least one place.
    pub listen: Vec<Listen>,
    /// The key that clients over TCP must have too. There is one if any place is not local.
    pub key_file: Option<PathBuf>,
    /// Where the agent keeps what clients need to go on after its death; see
    /// [`Settings::state_directory`].
    pub state: Option<PathBuf>,
    /// TCP connections are encrypted with these.
    pub tls: Option<TlsFiles>,
    /// Which of several agents it is.
    pub agent: AgentPlace,
    /// How requests are ordered.
    pub scheduler: SchedulerSettings,
    /// How files are laid out over servers.
    pub layout: LayoutSettings,
    /// How much is served at a time.
    pub limits: Limits,
    /// What is given to clients; at least one, each with a name of its own.
    pub exports: Vec<Export>,
    /// How jobs are recognised.
    pub job: JobSettings,
    /// What the agent tells of itself.
    pub telemetry: TelemetrySettings,
    file: String,
    origins: Origins,
}

/// The files of TLS, all PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The agent's certificate, and those between it and the root.
    pub certificate: PathBuf,
    /// Its private key.
    pub private_key: PathBuf,
    /// Clients must have a certificate from here.
    pub client_ca: Option<PathBuf>,
}

/// How the job of a process is recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobSettings {
    /// Variables of the process that name its job; the first that is set counts.
    pub variables: Vec<String>,
}

impl Default for JobSettings {
    fn default() -> JobSettings {
        JobSettings { variables: JOB_VARIABLES.map(String::from).to_vec() }
    }
}

impl Settings {
    /// Read a file, and the environment.
    pub fn read(path: &Path) -> Result<Settings, SettingsError> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| SettingsError::whole(&name, format!("cannot be read: {error}")))?;
        let variable = |name: &str| {
            let text = std::env::var_os(name)?.to_string_lossy().into_owned();
            (!text.is_empty()).then_some(text)
        };
        Settings::parse_with(&text, &name, &variable)
    }

    /// Understand a text, without the environment. The name stands in messages.
    pub fn parse(text: &str, name: &str) -> Result<Settings, SettingsError> {
        Settings::parse_with(text, name, &|_| None)
    }

    /// Understand a text with these variables in the environment.
    pub fn parse_with(
        text: &str,
        name: &str,
        variables: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Settings, SettingsError> {
        let table = DeTable::parse(text).map_err(|error| {
            let line = error.span().map(|span| section::line_at(text, span.start));
            let what = format!("this is no TOML: {}", error.message());
            let problem = Problem { line, field: String::new(), what };
            SettingsError { file: name.into(), problems: vec![problem] }
        })?;
        let reader = Reader::new(text, variables);
        let mut settings = Settings::understand(&reader, table.get_ref());
        settings.file = name.into();
        settings.origins =
            reader.finish().map_err(|problems| SettingsError { file: name.into(), problems })?;
        Ok(settings)
    }

    /// Fields that another file sets otherwise, and that a running agent cannot change.
    pub fn differences_that_need_a_restart(&self, other: &Settings) -> Vec<&'static str> {
        let (mine, theirs) = (&self.scheduler, &other.scheduler);
        let differences = [
            ("listen", self.listen != other.listen),
            ("key_file", self.key_file != other.key_file),
            ("state", self.state != other.state),
            ("tls", self.tls != other.tls),
            ("export", self.exports != other.exports),
            ("agent", self.agent != other.agent),
            ("limits", self.limits != other.limits),
            ("scheduler.servers", mine.servers != theirs.servers),
            ("scheduler.stripe", mine.stripe != theirs.stripe),
            ("layout", self.layout != other.layout),
            ("telemetry", self.telemetry != other.telemetry),
        ];
        differences.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
    }

    /// Where the agent keeps what outlives it: what the file says, or the usual place for such
    /// things of the user who runs it.
    pub fn state_directory(&self) -> Option<PathBuf> {
        let usual = || {
            if nix::unistd::geteuid().is_root() {
                return Some(PathBuf::from("/var/lib/iofwd"));
            }
            let given = |name| std::env::var_os(name).map(PathBuf::from);
            let own = given("XDG_STATE_HOME");
            Some(own.or_else(|| Some(given("HOME")?.join(".local/state")))?.join("iofwd"))
        };
        self.state.clone().or_else(usual)
    }

    /// A complete settings file with every field explained.
    pub const fn example() -> &'static str {
        include_str!("settings/example.toml")
    }

    fn understand<'t>(reader: &'t Reader<'t>, table: &'t DeTable<'t>) -> Settings {
        let top = reader.top(table);
        let settings = Settings {
            listen: listen(&top),
            key_file: top.path("key_file"),
            state: top.path("state"),
            tls: tls(&reader.one(table, "tls")),
            agent: AgentPlace::read(&reader.one(table, "agent")),
            scheduler: SchedulerSettings::read(&reader.one(table, "scheduler")),
            layout: LayoutSettings::read(
                &reader.one(table, "layout"),
                &reader.several(table, "stripes"),
            ),
            limits: Limits::read(&reader.one(table, "limits")),
            exports: export::read_all(reader, &reader.several(table, "export")),
            job: job(&reader.one(table, "job")),
            telemetry: TelemetrySettings::read(&reader.one(table, "telemetry")),
            file: String::new(),
            origins: Origins::default(),
        };
        settings.check_open_places(&top);
        top.refuse_unknown();
        settings
    }

    /// Whoever reaches an agent without a key can read and write as any user.
    fn check_open_places(&self, top: &Section<'_>) {
        if self.key_file.is_some() {
            return;
        }
        for open in self.listen.iter().filter(|listen| !listen.is_local()) {
            let what = format!(
                "{open} can be reached from other machines, and without a key anybody there could \
                 connect and act as any user: make a key with iofwd key new FILE and set \
                 key_file, or listen on 127.0.0.1 or a unix socket"
            );
            top.refuse("listen", what);
        }
    }
}

fn listen(top: &Section<'_>) -> Vec<Listen> {
    let Some(texts) = top.list("listen") else { return vec![Listen::default()] };
    let mut places = Vec::new();
    for text in &texts {
        match text.parse::<Listen>() {
            Ok(place) if places.contains(&place) => {
                top.refuse("listen", format!("{place} is there twice"));
            }
            Ok(place) => places.push(place),
            Err(what) => top.refuse("listen", what),
        }
    }
    if texts.is_empty() {
        top.refuse("listen", "the list is empty: nobody could connect".into());
    }
    places
}

fn tls(section: &Section<'_>) -> Option<TlsFiles> {
    section.refuse_unknown();
    if !section.is_given() {
        return None;
    }
    let certificate = section.path("certificate");
    let private_key = section.path("private_key");
    let client_ca = section.path("client_ca");
    if certificate.is_none() {
        section.refuse("certificate", "missing: TLS needs the agent's certificate".into());
    }
    if private_key.is_none() {
        section.refuse("private_key", "missing: TLS needs the key of the certificate".into());
    }
    Some(TlsFiles { certificate: certificate?, private_key: private_key?, client_ca })
}

fn job(section: &Section<'_>) -> JobSettings {
    section.refuse_unknown();
    let Some(variables) = section.list("variables") else { return JobSettings::default() };
    if variables.len() > JOB_VARIABLES_MOST {
        let what = format!("{} are too many: at most {JOB_VARIABLES_MOST}", variables.len());
        section.refuse("variables", what);
    }
    for name in variables.iter().filter(|name| !is_variable(name)) {
        let what = format!("'{name}' is no variable: letters, digits and '_', no digit first");
        section.refuse("variables", what);
    }
    JobSettings { variables }
}

fn is_variable(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && name.chars().all(allowed) && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// The job numbers of Slurm, PBS and Flux.
const JOB_VARIABLES: [&str; 3] = ["SLURM_JOB_ID", "PBS_JOBID", "FLUX_JOB_ID"];
/// All of them are looked for in every process that is new.
const JOB_VARIABLES_MOST: usize = 16;
