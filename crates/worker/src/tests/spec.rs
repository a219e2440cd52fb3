//! openapi.yaml, as far as the tests need it.

use jsonschema::Validator;
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
        let mut root = to_json(&documents[0]);
        let shared: Vec<String> = shared_parts(&root);
        for (name, schema) in root["components"]["schemas"].as_object_mut().unwrap() {
            if !shared.iter().any(|part| part.ends_with(&format!("/{name}"))) {
                tell_all(schema);
            }
        }
        Self { root }
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
        let params = parameters.iter().map(|parameter| self.follow(parameter)).filter(|one| one["in"] == "query");
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

    /// Fails where a value is not what a schema says.
    #[track_caller]
    pub(super) fn check(&self, schema: &str, value: &Value, what: &str) {
        let mut schema: Value = serde_json::from_str(schema)
            .unwrap_or_else(|_| json!({ "$ref": format!("#/components/schemas/{schema}") }));
        schema["components"] = self.root["components"].clone();
        let validator: Validator = jsonschema::draft202012::new(&schema).unwrap();
        let problems: Vec<String> =
            validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(problems.is_empty(), "{what}: {problems:#?}\n{value:#}");
    }
}

/// Returns what the file says of schemas that are parts of others.
fn shared_parts(value: &Value) -> Vec<String> {
    let parts = value["allOf"].as_array().into_iter().flatten();
    let own = parts.filter_map(|part| part["$ref"].as_str().map(str::to_owned));
    let within: Vec<&Value> = match value {
        Value::Object(fields) => fields.values().collect(),
        Value::Array(items) => items.iter().collect(),
        _ => Vec::new(),
    };
    own.chain(within.into_iter().flat_map(shared_parts)).collect()
}

/// Makes a schema refuse unknown fields: a field in an answer that is not described is a mistake.
fn tell_all(schema: &mut Value) {
    let is_open = schema.get("properties").or(schema.get("allOf")).is_some();
    let Value::Object(fields) = schema else { return };
    for (name, value) in fields.iter_mut().filter(|(name, _)| *name != "allOf") {
        match value {
            Value::Array(items) if name == "oneOf" || name == "anyOf" => items.iter_mut().for_each(tell_all),
            Value::Object(_) if name == "properties" => value.as_object_mut().unwrap().values_mut().for_each(tell_all),
            Value::Object(_) => tell_all(value),
            _ => {}
        }
    }
    if is_open && !fields.contains_key("additionalProperties") {
        fields.insert("unevaluatedProperties".to_owned(), json!(false));
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
