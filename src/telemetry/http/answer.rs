//! What is answered to whom: a list of names, for those who only want to read.

use std::borrow::Cow;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::{Method, Request, Response, StatusCode, header};

use super::Look;
use crate::telemetry::{exposition, health};

/// The answer to a request.
pub(super) fn to(request: &Request<Incoming>, look: &Look) -> Response<Full<Bytes>> {
    answer(request.method(), request.uri().path(), look)
}

fn answer(method: &Method, path: &str, look: &Look) -> Response<Full<Bytes>> {
    if *method != Method::GET && *method != Method::HEAD {
        let mut refused =
            text(StatusCode::METHOD_NOT_ALLOWED, PLAIN, "only GET: this can be read\n");
        refused.headers_mut().insert(header::ALLOW, header::HeaderValue::from_static("GET, HEAD"));
        return refused;
    }
    match path {
        "/" => text(StatusCode::OK, "text/html; charset=utf-8", PAGE),
        "/page.css" => text(StatusCode::OK, "text/css; charset=utf-8", STYLE),
        "/page.js" => text(StatusCode::OK, "text/javascript; charset=utf-8", SCRIPT),
        "/chart.js" => text(StatusCode::OK, "text/javascript; charset=utf-8", CHART),
        "/metrics" => text(StatusCode::OK, METRICS, exposition::text(&look.see())),
        "/snapshot.json" => text(StatusCode::OK, "application/json", json(look)),
        "/health" => health(look),
        _ => text(StatusCode::NOT_FOUND, PLAIN, NOTHING),
    }
}

fn json(look: &Look) -> String {
    let seen = look.see();
    let value = serde_json::json!({ "problems": health::problems(&seen), "snapshot": &*seen });
    value.to_string()
}

/// For those who watch whether it is well: the code says it, the text why not.
fn health(look: &Look) -> Response<Full<Bytes>> {
    let problems = health::problems(&look.see());
    match problems.is_empty() {
        true => text(StatusCode::OK, PLAIN, "well\n"),
        false => text(StatusCode::SERVICE_UNAVAILABLE, PLAIN, problems.join("\n") + "\n"),
    }
}

fn text(
    status: StatusCode,
    kind: &'static str,
    body: impl Into<Cow<'static, str>>,
) -> Response<Full<Bytes>> {
    let body = match body.into() {
        Cow::Borrowed(text) => Bytes::from_static(text.as_bytes()),
        Cow::Owned(text) => Bytes::from(text),
    };
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, OWN_TEXTS_ONLY),
        (header::REFERRER_POLICY, "no-referrer"),
    ] {
        headers.insert(name, header::HeaderValue::from_static(value));
    }
    response
}

const PLAIN: &str = "text/plain; charset=utf-8";
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";
const NOTHING: &str = "nothing here: /, /metrics, /health and /snapshot.json are all there is\n";
/// A browser loads nothing from elsewhere, and nobody frames the page.
const OWN_TEXTS_ONLY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                              connect-src 'self'; img-src data:; frame-ancestors 'none'; \
                              base-uri 'none'; form-action 'none'";
const PAGE: &str = include_str!("../page/page.html");
const STYLE: &str = include_str!("../page/page.css");
const SCRIPT: &str = include_str!("../page/page.js");
const CHART: &str = include_str!("../page/chart.js");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::Snapshot;
    use crate::telemetry::snapshot::Client;

    fn status(method: Method, path: &str, snapshot: &Snapshot) -> StatusCode {
        let snapshot = snapshot.clone();
        answer(&method, path, &Look::new(Box::new(move || snapshot.clone()))).status()
    }

    #[test]
    fn only_what_is_listed_can_be_read_and_nothing_changed() {
        let well = Snapshot::default();
        for path in ["/", "/page.css", "/page.js", "/chart.js", "/metrics", "/snapshot.json"] {
            assert_eq!(status(Method::GET, path, &well), StatusCode::OK, "{path}");
            assert_eq!(status(Method::POST, path, &well), StatusCode::METHOD_NOT_ALLOWED, "{path}");
        }
        for path in ["/etc/passwd", "/../etc/passwd", "//", "/metrics/", "/page.css/..", "/%2e%2e/"]
        {
            assert_eq!(status(Method::GET, path, &well), StatusCode::NOT_FOUND, "{path}");
        }
    }

    #[test]
    fn whether_it_is_well_can_be_told_from_the_code() {
        assert_eq!(status(Method::GET, "/health", &Snapshot::default()), StatusCode::OK);
        let ill = Snapshot {
            client: Some(Client { lost_s: Some(1), ..Client::default() }),
            ..Snapshot::default()
        };
        assert_eq!(status(Method::GET, "/health", &ill), StatusCode::SERVICE_UNAVAILABLE);
    }
}
