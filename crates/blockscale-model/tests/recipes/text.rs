//! What a recipe may say, and which of its rules decides.

use blockscale::format::Format;
use blockscale_model::Dtype;
use blockscale_model::catalog::Encoding;
use blockscale_model::recipe::{BUILTIN, Naming, Pattern, Recipe, RecipeError, Target, builtin};

use crate::{BF16, MATRIX, NVFP4, target};

/// A recipe of one rule with these further lines.
fn one_rule(lines: &str) -> Result<Recipe, RecipeError> {
    Recipe::parse(&format!(
        "version = 1\nname = \"r\"\n[[rule]]\nmatch = [\"*\"]\n{lines}"
    ))
}

fn syntax_error(text: &str) -> String {
    match Recipe::parse(text) {
        Err(error @ RecipeError::Syntax { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_builtin_parses_under_its_own_name() {
    for entry in BUILTIN {
        let recipe = builtin(entry.name).unwrap();
        assert_eq!(recipe.name, entry.name);
        assert_eq!(recipe.naming, Naming::DeepseekV4);
        assert_eq!(recipe.model_types, ["deepseek_v4"]);
        assert!(!recipe.summary.is_empty());
        // Nothing falls through: the last rule takes what is left.
        assert_eq!(
            target(&recipe, "anything.at.all", Encoding::Plain(Dtype::I64), &[]),
            Target::Keep
        );
    }
}

#[test]
fn unknown_builtin_lists_the_names_there_are() {
    let message = builtin("deepseek-v5").unwrap_err().to_string();
    for name in [
        "`deepseek-v5`",
        "`deepseek-v4`",
        "`deepseek-v4-bf16`",
        ".toml",
    ] {
        assert!(message.contains(name), "{message}");
    }
}

#[test]
fn unknown_keys_are_errors_that_name_the_key_and_its_line() {
    let of_recipe = syntax_error("version = 1\nname = \"r\"\nnames = \"keep\"");
    assert!(
        of_recipe.contains("`names`") && of_recipe.contains("line 3"),
        "{of_recipe}"
    );
    let of_rule = one_rule("to = \"keep\"\nscale-name = \".scale\"")
        .unwrap_err()
        .to_string();
    assert!(
        of_rule.contains("`scale-name`") && of_rule.contains("line 6"),
        "{of_rule}"
    );
    let of_module = one_rule("to = \"bf16\"\nmodules = [{ name = \"a\", rows = [], order = 1 }]");
    assert!(of_module.unwrap_err().to_string().contains("`order`"));
}

#[test]
fn unknown_words_are_errors_that_name_the_word() {
    let cases = [
        ("to = \"fp9\"", "`fp9`"),
        ("to = \"keep\"\naccept = [\"int4\"]", "`int4`"),
        ("to = \"keep\"\nstored = [\"nvfp5\"]", "`nvfp5`"),
        ("to = \"fp8-block\"\nscale_rule = \"mean\"", "`mean`"),
    ];
    for (lines, word) in cases {
        let message = one_rule(lines).unwrap_err().to_string();
        assert!(message.contains(word), "{message}");
    }
    let naming = syntax_error("version = 1\nname = \"r\"\nnaming = \"llama\"");
    assert!(naming.contains("`llama`"), "{naming}");
}

#[test]
fn rule_without_a_target_or_a_pattern_is_an_error() {
    let no_target = one_rule("optional = true").unwrap_err().to_string();
    assert!(no_target.contains("`to`"), "{no_target}");
    let no_pattern = syntax_error("version = 1\nname = \"r\"\n[[rule]]\nto = \"keep\"");
    assert!(no_pattern.contains("`match`"), "{no_pattern}");
}

#[test]
fn other_versions_are_refused() {
    for found in [0, 2] {
        let text =
            format!("version = {found}\nname = \"r\"\n[[rule]]\nmatch = [\"*\"]\nto = \"keep\"");
        let recipe = "r".to_owned();
        assert_eq!(
            Recipe::parse(&text).unwrap_err(),
            RecipeError::Version { recipe, found }
        );
    }
    assert!(syntax_error("name = \"r\"").contains("`version`"));
}

#[test]
fn recipe_without_rules_is_refused() {
    let error = Recipe::parse("version = 1\nname = \"r\"").unwrap_err();
    assert_eq!(
        error,
        RecipeError::NoRules {
            recipe: "r".to_owned()
        }
    );
}

#[test]
fn bad_patterns_are_errors_that_name_the_pattern() {
    for pattern in ["layers.[", "{a,b", "re:layers.(", "re:[z-a]"] {
        let error = pattern.parse::<Pattern>().unwrap_err();
        assert_eq!(error.pattern, pattern);
        assert!(!error.reason.is_empty());
        let text = format!(
            "version = 1\nname = \"r\"\n[[rule]]\nmatch = [\"*\", '{pattern}']\nto = \"keep\""
        );
        let message = syntax_error(&text);
        assert!(message.contains(&format!("`{pattern}`")), "{message}");
        assert!(message.contains("line 4"), "{message}");
    }
}

#[test]
fn keys_that_contradict_the_target_are_refused() {
    let cases = [
        (
            "to = \"bf16\"\nscale_name = \".scale\"",
            "scale_name",
            Target::Bf16,
        ),
        (
            "to = \"keep\"\nscale_name = \".scale\"",
            "scale_name",
            Target::Keep,
        ),
        (
            "to = \"f32\"\nscale_rule = \"amax\"",
            "scale_rule",
            Target::F32,
        ),
        (
            "to = \"f16\"\nscheme = \"modelopt-nvfp4\"",
            "scheme",
            Target::F16,
        ),
        (
            "to = \"int4\"\nscheme = \"modelopt-nvfp4\"",
            "scheme",
            Target::Int4,
        ),
        (
            "to = \"int8\"\nscale_rule = \"amax\"",
            "scale_rule",
            Target::Int8,
        ),
        ("to = \"mxfp4\"\ngroup = 32", "group", Target::Mxfp4),
        (
            "to = \"bf16\"\nzero_points = true",
            "zero_points",
            Target::Bf16,
        ),
        ("to = \"int4\"\nfuse = true", "fuse", Target::Int4),
        ("to = \"nvfp4\"\nfuse = true", "fuse", Target::Nvfp4),
        ("to = \"keep\"\nfuse = false", "fuse", Target::Keep),
        (
            "to = \"fp8-block\"\nshare_global = true",
            "share_global",
            Target::Fp8Block,
        ),
    ];
    const MODULES: &str = "modules = [{ name = \"ab\", rows = [\"a\", \"b\"] }]";
    for (lines, key, to) in cases {
        let lines = &format!("{lines}\n{MODULES}");
        let recipe = "r".to_owned();
        let expected = RecipeError::Contradiction {
            recipe,
            rule: 1,
            key,
            to,
        };
        assert_eq!(one_rule(lines).unwrap_err(), expected, "{lines}");
    }
}

#[test]
fn keys_about_modules_need_modules() {
    for (lines, key) in [
        ("to = \"bf16\"\nfuse = true", "fuse"),
        ("to = \"nvfp4\"\nshare_global = true", "share_global"),
    ] {
        let recipe = "r".to_owned();
        let expected = RecipeError::NeedsModules {
            recipe,
            rule: 1,
            key,
        };
        assert_eq!(one_rule(lines).unwrap_err(), expected, "{lines}");
    }
}

#[test]
fn every_target_is_read_by_the_name_it_prints() {
    for to in Target::CONVERSIONS {
        assert_eq!(to.to_string().parse(), Ok(to));
        let recipe = one_rule(&format!("to = \"{to}\"")).unwrap();
        assert_eq!(recipe.rules[0].to, to);
        let forms = [
            to.is_plain(),
            to.format().is_some(),
            to.int_bits().is_some(),
        ];
        assert_eq!(forms.iter().filter(|&&form| form).count(), 1, "{to}");
    }
    // Not a format to convert to.
    let error = "keep".parse::<Target>().unwrap_err().to_string();
    assert!(
        error.contains("`keep`") && error.contains("fp8-block-ue8m0"),
        "{error}"
    );
}

#[test]
fn first_rule_that_matches_decides() {
    let recipe = Recipe::parse(
        r#"
        version = 1
        name = "r"
        [[rule]]
        match = ["a.b.weight", "c.*"]
        to = "bf16"
        [[rule]]
        match = ["a.*"]
        to = "f32"
        "#,
    )
    .unwrap();
    let rule_for = |name: &str| recipe.rule_for(name, &BF16, &MATRIX);
    assert_eq!(rule_for("a.b.weight"), Some(0));
    assert_eq!(rule_for("c.weight"), Some(0));
    assert_eq!(rule_for("a.c.weight"), Some(1));
    assert_eq!(rule_for("b.weight"), None);
}

#[test]
fn stored_and_matrices_narrow_a_rule() {
    let recipe = Recipe::parse(
        r#"
        version = 1
        name = "r"
        [[rule]]
        match = ["*"]
        stored = ["nvfp4", "fp8"]
        to = "bf16"
        [[rule]]
        match = ["*"]
        matrices = true
        to = "f32"
        [[rule]]
        match = ["*"]
        to = "keep"
        "#,
    )
    .unwrap();
    let rule_for = |encoding, shape: &[usize]| recipe.rule_for("a", &encoding, shape);
    assert_eq!(rule_for(NVFP4, &MATRIX), Some(0));
    assert_eq!(
        rule_for(Encoding::Block(Format::NVFP4_DIVISOR), &MATRIX),
        Some(0)
    );
    assert_eq!(rule_for(Encoding::Block(Format::FP8_TENSOR), &[8]), Some(0));
    assert_eq!(rule_for(Encoding::Block(Format::MXFP4), &MATRIX), Some(1));
    assert_eq!(rule_for(BF16, &[2, 8, 8]), Some(1));
    assert_eq!(rule_for(BF16, &[8]), Some(2));
    assert_eq!(rule_for(Encoding::Plain(Dtype::I64), &MATRIX), Some(2));
}

#[test]
fn star_crosses_dots_and_braces_choose() {
    let glob: Pattern = "layers.*.{wq_a,wkv}.weight".parse().unwrap();
    assert!(glob.matches("layers.3.attn.wkv.weight"));
    assert!(glob.matches("layers.3.attn.compressor.wkv.weight"));
    assert!(!glob.matches("layers.3.attn.wq_b.weight"));
    assert!(!glob.matches("model.layers.3.attn.wkv.weight"));
    assert!(!glob.matches("layers.3.attn.wkv.weight_scale"));
    assert_eq!(glob.as_str(), "layers.*.{wq_a,wkv}.weight");
}

#[test]
fn regular_expression_matches_the_whole_name() {
    let regex: Pattern = r"re:a\.\d+|b".parse().unwrap();
    for name in ["a.0", "a.17", "b"] {
        assert!(regex.matches(name), "{name}");
    }
    for name in ["a.0.weight", "xa.0", "ab", "b\n", "re:b"] {
        assert!(!regex.matches(name), "{name}");
    }
}

#[test]
fn member_of_a_module_is_found_by_its_last_name_part() {
    let recipe =
        one_rule("to = \"bf16\"\nmodules = [{ name = \"fused\", rows = [\"wkv\", \"wgate\"] }]")
            .unwrap();
    let rule = &recipe.rules[0];
    for (place, row) in ["wkv", "wgate"].into_iter().enumerate() {
        let name = format!("layers.2.attn.compressor.{row}.weight");
        let member = rule.member(&name).unwrap();
        assert_eq!(member.joined, "layers.2.attn.compressor.fused.weight");
        assert_eq!(member.place, place);
        assert_eq!(member.module.name, "fused");
    }
    assert_eq!(rule.member("wkv").unwrap().joined, "fused");
    for other in [
        "layers.2.attn.xwkv.weight",
        "layers.2.wkv.attn.weight",
        "wkv.weight_scale",
        "",
    ] {
        assert_eq!(rule.member(other), None, "{other}");
    }
}

#[test]
fn only_rules_that_name_the_key_fuse() {
    let mut recipe = builtin("deepseek-v4-bf16").unwrap();
    assert!(recipe.rules.iter().all(|rule| rule.fuse != Some(true)));
    recipe.fuse_modules().unwrap();
    let fusing: Vec<_> = recipe
        .rules
        .iter()
        .filter(|rule| rule.fuse == Some(true))
        .map(|rule| {
            (
                rule.label.as_deref().unwrap(),
                rule.part.as_deref().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        fusing,
        [("compressors", "main"), ("compressors", "indexer")]
    );

    let error = one_rule("to = \"bf16\"")
        .unwrap()
        .fuse_modules()
        .unwrap_err();
    assert_eq!(
        error,
        RecipeError::NothingToFuse {
            recipe: "r".to_owned()
        }
    );
}

#[test]
fn nesting_of_any_depth_is_refused_and_not_followed() {
    let depth = 100_000;
    let nested = |open: &str, close: &str| format!("{}{}", open.repeat(depth), close.repeat(depth));
    for value in [nested("[", "]"), nested("{a=", "}"), nested("[{a=", "}]")] {
        assert!(Recipe::parse(&format!("version = {value}")).is_err());
    }
    let keys = vec!["a"; depth].join(".");
    assert!(Recipe::parse(&format!("{keys} = 1")).is_err());
    let pattern = format!("{}a{}", "{".repeat(depth), "}".repeat(depth));
    assert!(pattern.parse::<Pattern>().is_err());
}
