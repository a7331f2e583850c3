//! `blockscale view`: a checkpoint in the browser.
//!
//! A server for one person, of one page and of one checkpoint or two. It reads only, listens on the
//! machine itself unless told otherwise, and answers nobody who does not know the token in its URL.
//! What it refuses and why is in docs/viewer.md.

mod answer;
mod body;
mod files;
mod guard;
mod page;
mod server;

use std::io::{self, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::args::{OpenWith, ViewArgs};
use crate::commands::unless_closed;
use crate::error::CliError;

use files::Served;
use guard::Token;
use server::Server;

pub(crate) fn run(args: &ViewArgs, stop: &Arc<AtomicBool>) -> Result<ExitCode, CliError> {
    let mut served = vec![Served::open(&args.path, "checkpoint")?];
    if let Some(path) = &args.reference {
        served.push(Served::open(path, "reference")?);
    }
    let token = Token::random()?;
    let address = SocketAddr::new(args.bind, args.port);
    let server = Server::bind(address, token, served)
        .map_err(|source| CliError::Listen { address, source })?;
    announce(&server, args)?;
    server.run(stop)?;
    Ok(ExitCode::SUCCESS)
}

fn announce(server: &Server, args: &ViewArgs) -> Result<(), CliError> {
    let mut notes = anstream::stderr();
    // A closed stderr leaves nobody to tell.
    let _ = write_notes(&mut notes, args.bind);
    let url = server.url();
    unless_closed(writeln!(io::stdout(), "{url}"))?;
    if args.open == OpenWith::Browser {
        open_browser(&url);
    }
    Ok(())
}

fn write_notes(out: &mut impl io::Write, bind: IpAddr) -> io::Result<()> {
    if !bind.is_loopback() {
        writeln!(
            out,
            "warning: whoever can reach {bind} and knows the URL can read the checkpoint, and nothing \
             is encrypted on the way; without --bind, `ssh -L` brings the page to another machine"
        )?;
    }
    if !page::is_there() {
        writeln!(
            out,
            "note: this program was built without the viewer's page; run `cargo xtask web` and build it \
             again"
        )?;
    }
    writeln!(out, "open this in a browser; Ctrl-C ends it:")
}

/// Asks the system to show the page; where it can't, the URL is on the terminal.
fn open_browser(url: &str) {
    let (program, args): (&str, &[&str]) = match std::env::consts::OS {
        "macos" => ("open", &[]),
        "windows" => ("cmd", &["/C", "start", ""]),
        _ => ("xdg-open", &[]),
    };
    let mut command = Command::new(program);
    command.args(args).arg(url);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let _ = command.spawn();
}
