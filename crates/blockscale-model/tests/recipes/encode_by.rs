//! Scale rules, schemes and groups of integers, as recipes and `--to` name them.

use blockscale::Format;
use blockscale::encode::{ScaleRule, Scheme};
use blockscale::format::ScaleElement;
use blockscale::int::IntRule;
use blockscale_model::recipe::{
    EncodeBy, Recipe, RecipeError, ScaleRuleName, SchemeName, Stored, Target, generic,
};

fn rule(lines: &str) -> Result<Recipe, RecipeError> {
    Recipe::parse(&format!(
        "version = 1\nname = \"r\"\n[[rule]]\nmatch = [\"*\"]\n{lines}"
    ))
}

#[test]
fn every_rule_and_every_scheme_is_read_by_its_name() {
    for &scale_rule in ScaleRule::ALL {
        let recipe = rule(&format!("to = \"nvfp4\"\nscale_rule = \"{scale_rule}\"")).unwrap();
        let by = EncodeBy::Rule(scale_rule);
        assert_eq!(recipe.rules[0].encode_by(), Some(by));
    }
    for named in Scheme::NAMED {
        let recipe = rule(&format!("to = \"nvfp4\"\nscheme = \"{}\"", named.name)).unwrap();
        let by = EncodeBy::Scheme(named);
        assert_eq!(recipe.rules[0].encode_by(), Some(by));
        assert_eq!(by.to_string(), format!("scheme {}", named.name));
    }
    let alias: ScaleRuleName = "power-of-two".parse().unwrap();
    assert_eq!(alias.0, ScaleRule::RceilMin1e4);
    assert_eq!(rule("to = \"nvfp4\"").unwrap().rules[0].encode_by(), None);
}

#[test]
fn unknown_names_list_those_there_are() {
    let text = "mean".parse::<ScaleRuleName>().unwrap_err().to_string();
    for &scale_rule in ScaleRule::ALL {
        assert!(text.contains(&scale_rule.to_string()), "{text}");
    }
    let text = "nvfp4".parse::<SchemeName>().unwrap_err().to_string();
    for named in Scheme::NAMED {
        assert!(text.contains(named.name), "{text}");
    }
    let text = rule("to = \"nvfp4\"\nscheme = \"nvfp4\"")
        .unwrap_err()
        .to_string();
    assert!(text.contains("`nvfp4` is no scheme"), "{text}");
}

#[test]
fn rule_and_scheme_exclude_each_other() {
    let lines = "to = \"nvfp4\"\nscale_rule = \"amax\"\nscheme = \"default\"";
    let expected = RecipeError::RuleAndScheme {
        recipe: "r".to_owned(),
        rule: 1,
    };
    assert_eq!(rule(lines).unwrap_err(), expected);
}

#[test]
fn choice_is_set_where_block_formats_are_written_and_nowhere_else() {
    let by = EncodeBy::Rule(ScaleRule::Even);
    for to in Target::CONVERSIONS {
        let mut recipe = generic(to, vec![], vec![]);
        let taken = recipe.encode_by(by);
        assert_eq!(taken.is_ok(), to.format().is_some(), "{to}");
        for rule in &recipe.rules {
            let expected = rule.to.format().map(|_| by);
            assert_eq!(rule.encode_by(), expected, "{to}");
        }
        let grouped = recipe.group_columns(32);
        assert_eq!(grouped.is_ok(), to.int_bits().is_some(), "{to}");
    }
    let mut plain = generic(Target::Bf16, vec![], vec![]);
    let text = plain.encode_by(by).unwrap_err().to_string();
    assert!(
        text.contains("`to bf16`") && text.contains("`scale_rule`"),
        "{text}"
    );
}

#[test]
fn groups_are_those_of_the_presets_unless_the_rule_says() {
    let integers = |lines: &str| {
        let recipe = rule(lines).unwrap();
        let (format, int_rule) = recipe.rules[0].integers(ScaleElement::Bf16).unwrap();
        (format.bits, format.group_cols, int_rule)
    };
    let full = IntRule::SymmetricFull;
    assert_eq!(integers("to = \"int4\""), (4, 128, full));
    assert_eq!(integers("to = \"int8\""), (8, 0, full));
    assert_eq!(integers("to = \"int4\"\ngroup = 0"), (4, 0, full));
    assert_eq!(integers("to = \"int8\"\ngroup = 64"), (8, 64, full));
    let affine = integers("to = \"int4\"\ngroup = 32\nzero_points = true");
    assert_eq!(affine, (4, 32, IntRule::Affine));
    let none = rule("to = \"nvfp4\"").unwrap();
    assert_eq!(none.rules[0].integers(ScaleElement::F32), None);
}

#[test]
fn default_scheme_is_the_rule_of_each_format() {
    let by = EncodeBy::Scheme(Scheme::from_name("default").unwrap());
    for format in [Format::NVFP4, Format::MXFP8_E4M3, Format::FP8_BLOCK_UE8M0] {
        assert_eq!(by.scheme(&format), Scheme::from(format.default_rule()));
    }
}

#[test]
fn page_on_recipes_has_every_word() {
    let page = include_str!("../../../../docs/recipes.md");
    let has = |word: &str| assert!(page.contains(&format!("`{word}`")), "{word}");
    Target::CONVERSIONS.iter().for_each(|to| has(to.name()));
    Stored::ALL.iter().for_each(|stored| has(stored.name()));
    ScaleRule::ALL
        .iter()
        .for_each(|rule| has(&rule.to_string()));
    for key in [
        "match",
        "stored",
        "matrices",
        "accept",
        "optional",
        "to",
        "scale_rule",
        "scheme",
        "group",
        "zero_points",
        "scale_name",
        "modules",
        "share_global",
        "fuse",
        "exact",
        "label",
        "part",
    ] {
        has(key);
    }
    // The example at the top is a recipe.
    let (_, example) = page.split_once("```toml\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    assert_eq!(Recipe::parse(example).unwrap().rules.len(), 3);
}
