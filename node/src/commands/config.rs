//! `config`: what is in force and where it comes from.

use serde::Serialize;

use crate::args::ConfigArgs;
use crate::failure::Failure;
use crate::report::{print_json, print_line};
use crate::settings::{DEFAULT_FILE, Setting, Settings};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ConfigReport {
    ok: bool,
    settings: Vec<SettingReport>,
}

#[derive(Serialize)]
struct SettingReport {
    key: &'static str,
    value: Option<String>,
    origin: String,
}

/// A file with every key.
pub(crate) fn default_file(json: bool) -> Result<(), Failure> {
    #[derive(Serialize)]
    struct DefaultReport {
        ok: bool,
        file: &'static str,
    }
    if json {
        print_json(&DefaultReport { ok: true, file: DEFAULT_FILE });
    } else {
        print_line(DEFAULT_FILE.trim_end());
    }
    Ok(())
}

/// What is in force.
pub(crate) fn show(args: &ConfigArgs, json: bool) -> Result<(), Failure> {
    let report = report(args)?;
    if json {
        print_json(&report);
        return Ok(());
    }
    for SettingReport { key, value, origin } in &report.settings {
        print_line(&format!("{key:<13} {:<24} # {origin}", value.as_deref().unwrap_or("-")));
    }
    Ok(())
}

/// Whether everything in force makes sense: the file, and the chain it names.
pub(crate) fn check(args: &ConfigArgs, json: bool) -> Result<(), Failure> {
    let report = report(args)?;
    if json {
        print_json(&report);
    } else {
        print_line("the configuration is sound");
    }
    Ok(())
}

fn report(args: &ConfigArgs) -> Result<ConfigReport, Failure> {
    let settings = Settings::resolve(&args.chain, &args.datadir, &args.engine)?;
    let chosen = settings.chain(false)?;
    let Settings { chain, datadir, trie_engine, executor, flatdb_verify, gc, gc_epochs, gc_epoch_size, gc_depth } =
        &settings;
    let chain =
        Setting { value: Some(chain.value.clone().unwrap_or_else(|| chosen.spec.name.clone())), ..chain.clone() };
    Ok(ConfigReport {
        ok: true,
        settings: vec![
            line("chain", &chain, Clone::clone),
            line("datadir", datadir, |path| path.display().to_string()),
            line("trie-engine", trie_engine, ToString::to_string),
            line("executor", executor, |executor| executor.name().to_owned()),
            line("flatdb-verify", flatdb_verify, |verify| verify.name().to_owned()),
            line("gc", gc, |gc| gc.name().to_owned()),
            line("gc-epochs", gc_epochs, ToString::to_string),
            line("gc-epoch-size", gc_epoch_size, ToString::to_string),
            line("gc-depth", gc_depth, ToString::to_string),
        ],
    })
}

fn line<T>(key: &'static str, setting: &Setting<T>, text: impl Fn(&T) -> String) -> SettingReport {
    SettingReport { key, value: setting.value.as_ref().map(text), origin: setting.origin.to_string() }
}
