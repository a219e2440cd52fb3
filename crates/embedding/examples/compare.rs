#![expect(clippy::print_stdout, reason = "an example shows what comes out")]

use longhaul_embedding::Model;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let model = Model::parse(std::fs::read(arguments.next().ok_or("usage: compare MODEL TEXT TEXT")?)?)?;
    let texts: Vec<String> = arguments.collect();
    if let [first, second] = texts.as_slice()
        && let (Some(first), Some(second)) = (model.embed(first), model.embed(second))
    {
        println!("{:.3}", first.similarity(&second));
    }
    Ok(())
}
