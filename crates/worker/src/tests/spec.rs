//! openapi.yaml, as far as the tests need it.

use std::collections::BTreeSet;

use regex_lite::Regex;
use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde_json::{Map, Value, json};

/// The file.
pub(super) struct Spec {
    root: Value,
}

/// What can be asked, with the file's own examples.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) method: String,
    pub(super) path: String,
    /// The names of its query parameters.
    pub(super) params: Vec<String>,
    /// The path with everything that it needs.
    pub(super) address: String,
    pub(super) body: Option<Value>,
    /// What the answer must be: the name of a schema, or a schema as JSON.
    pub(super) answer: String,
}

impl Spec {
    pub(super) fn load() -> Self {
        let documents = Yaml::load_from_str(include_str!("../../openapi.yaml")).unwrap();
        Self { root: to_json(&documents[0]) }
    }

    pub(super) fn operations(&self) -> Vec<Operation> {
        let paths = self.root["paths"].as_object().unwrap();
        let of_path = |(path, methods): (&String, &Value)| -> Vec<Operation> {
            let methods = methods.as_object().unwrap();
            methods.iter().map(|(method, described)| self.operation(path, method, described)).collect()
        };
        paths.iter().flat_map(of_path).collect()
    }

    fn operation(&self, path: &str, method: &str, described: &Value) -> Operation {
        let parameters = described["parameters"].as_array().cloned().unwrap_or_default();
        let needed: Vec<String> = parameters
            .iter()
            .map(|parameter| self.follow(parameter))
            .filter(|parameter| parameter["in"] == "query" && parameter["required"] == true)
            .map(|parameter| {
                let (name, example) = (parameter["name"].as_str().unwrap(), parameter["schema"]["example"].as_str());
                format!("{name}={}", example.unwrap_or_else(|| panic!("{path}: {name} has no example")))
            })
            .collect();
        let params =
            parameters.iter().map(|parameter| self.follow(parameter)).filter(|parameter| parameter["in"] == "query");
        let params = params.map(|parameter| parameter["name"].as_str().unwrap().to_owned()).collect();
        let id = if path.starts_with("/api/sessions/") { "host-1" } else { "1" };
        let query = if needed.is_empty() { String::new() } else { format!("?{}", needed.join("&")) };
        let answer = self.follow(&described["responses"]["200"]);
        Operation {
            method: method.to_owned(),
            path: path.to_owned(),
            params,
            address: format!("{}{query}", path.replace("{id}", id)),
            body: described["requestBody"]["content"]["application/json"].get("example").cloned(),
            answer: answer["content"]["application/json"]["schema"].to_string(),
        }
    }

    fn follow<'a>(&'a self, value: &'a Value) -> &'a Value {
        match value["$ref"].as_str() {
            Some(place) => self.root.pointer(place.trim_start_matches('#')).unwrap(),
            None => value,
        }
    }

    /// Fails where a value is not what a schema says. A field that is not described is a mistake, too.
    #[track_caller]
    pub(super) fn check(&self, schema: &str, value: &Value, what: &str) {
        let schema: Value = serde_json::from_str(schema)
            .unwrap_or_else(|_| json!({ "$ref": format!("#/components/schemas/{schema}") }));
        let mut found = Vec::new();
        self.compare(&schema, value, "", false, &mut found);
        assert!(found.is_empty(), "{what}: {found:#?}\n{value:#}");
    }

    /// Adds to `found` where a value is not what a schema says, and returns the fields that it describes. A part of another
    /// schema describes only some.
    fn compare(
        &self,
        schema: &Value,
        value: &Value,
        at: &str,
        is_part: bool,
        found: &mut Vec<String>,
    ) -> BTreeSet<String> {
        let mut fields = BTreeSet::new();
        let number = |value: &Value| value.as_f64();
        for (keyword, what) in schema.as_object().unwrap() {
            let fits = match keyword.as_str() {
                "$ref" => {
                    fields.extend(self.compare(self.follow(schema), value, at, is_part, found));
                    true
                }
                "allOf" => {
                    each(what).for_each(|part| fields.extend(self.compare(part, value, at, true, found)));
                    true
                }
                "anyOf" | "oneOf" => {
                    let fitting = each(what).filter(|option| {
                        let mut found = Vec::new();
                        self.compare(option, value, at, false, &mut found);
                        found.is_empty()
                    });
                    let count = fitting.count();
                    count == 1 || count > 1 && keyword == "anyOf"
                }
                "type" => each(what).any(|name| is_of_type(value, name)),
                "const" => value == what,
                "enum" => each(what).any(|allowed| value == allowed),
                "minimum" => number(value).is_none_or(|value| value >= number(what).unwrap()),
                "maximum" => number(value).is_none_or(|value| value <= number(what).unwrap()),
                "minItems" => value.as_array().is_none_or(|items| items.len() as u64 >= what.as_u64().unwrap()),
                "maxItems" => value.as_array().is_none_or(|items| items.len() as u64 <= what.as_u64().unwrap()),
                "pattern" => {
                    value.as_str().is_none_or(|text| Regex::new(what.as_str().unwrap()).unwrap().is_match(text))
                }
                "minLength" => value.as_str().is_none_or(|text| text.len() as u64 >= what.as_u64().unwrap()),
                "required" => each(what).all(|name| !value.is_object() || value.get(name.as_str().unwrap()).is_some()),
                "items" => {
                    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.compare(what, item, &format!("{at}/{index}"), false, found);
                    }
                    true
                }
                "properties" => {
                    for (name, schema) in what.as_object().unwrap() {
                        fields.insert(name.clone());
                        if let Some(value) = value.get(name) {
                            self.compare(schema, value, &format!("{at}/{name}"), false, found);
                        }
                    }
                    true
                }
                "additionalProperties" => {
                    for (name, value) in value.as_object().into_iter().flatten() {
                        fields.insert(name.clone());
                        self.compare(what, value, &format!("{at}/{name}"), false, found);
                    }
                    true
                }
                "description" | "default" | "example" | "format" => true,
                other => panic!("{at}: {other} is not checked yet"),
            };
            if !fits {
                found.push(format!("{at}: {value} does not fit {keyword} {what}"));
            }
        }
        if !is_part && schema.get("properties").or(schema.get("allOf")).is_some() {
            let names = value.as_object().into_iter().flatten().map(|(name, _)| name);
            found.extend(
                names.filter(|name| !fields.contains(*name)).map(|name| format!("{at}/{name} is not described")),
            );
        }
        fields
    }
}

/// Returns the items of a list, or a value that is none.
fn each(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice).iter()
}

fn is_of_type(value: &Value, name: &Value) -> bool {
    match name.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{other} is no type"),
    }
}

fn to_json(yaml: &Yaml<'_>) -> Value {
    match yaml {
        Yaml::Value(Scalar::Null) => Value::Null,
        Yaml::Value(Scalar::Boolean(value)) => json!(value),
        Yaml::Value(Scalar::Integer(value)) => json!(value),
        Yaml::Value(Scalar::FloatingPoint(value)) => json!(value.into_inner()),
        Yaml::Value(Scalar::String(value)) => json!(value),
        Yaml::Sequence(items) => items.iter().map(to_json).collect(),
        Yaml::Mapping(entries) => {
            let entry = |(key, value): (&Yaml<'_>, &Yaml<'_>)| (key.as_str().unwrap().to_owned(), to_json(value));
            Value::Object(entries.iter().map(entry).collect::<Map<_, _>>())
        }
        other => panic!("the file holds something unexpected: {other:?}"),
    }
}
