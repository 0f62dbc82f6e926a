//! Questions as data: a list of folds becomes one enum that can be written down, and one for its answers.

/// A question of a list: how it becomes a member of the list's enum, and how its own answer is taken from the list's answer.
pub trait Member<Ask, Answer> {
    /// The question's own answer.
    type Own;
    /// The question as a member of the list.
    fn listed(self) -> Ask;
    /// Its own answer; none if the answer is that of another question.
    fn own(answer: Answer) -> Option<Self::Own>;
}

/// Makes of folds over one kind of block an enum of questions and an enum of answers; the first is itself a fold.
macro_rules! questions {
    (
        $(#[$ask_doc:meta])* $ask:ident,
        $(#[$answer_doc:meta])* $answer:ident,
        $block:ty { $($(#[$doc:meta])* $name:ident($question:ty)),* $(,)? }
    ) => {
        $(#[$ask_doc])*
        #[allow(clippy::large_enum_variant)] // a few are made per pass, not one per row
        #[derive(Clone, Debug, ::serde::Serialize, ::serde::Deserialize)]
        pub enum $ask {
            $($(#[$doc])* $name($question),)*
        }

        $(#[$answer_doc])*
        #[allow(clippy::large_enum_variant)]
        #[derive(Clone, Debug, ::serde::Serialize, ::serde::Deserialize)]
        pub enum $answer {
            $($(#[$doc])* $name(<$question as $crate::engine::Fold<$block>>::Partial),)*
        }

        impl $ask {
            /// Whether this is an answer to this question, and not to another of the list.
            pub fn fits(&self, answer: &$answer) -> bool {
                match (self, answer) {
                    $(($ask::$name(_), $answer::$name(_)) => true,)*
                    #[allow(unreachable_patterns)]
                    _ => false,
                }
            }
        }

        impl $crate::engine::Fold<$block> for $ask {
            type Partial = $answer;

            fn zero(&self) -> $answer {
                match self {
                    $($ask::$name(q) => $answer::$name($crate::engine::Fold::<$block>::zero(q)),)*
                }
            }

            fn add(&self, block: &$block, into: &mut $answer) {
                match (self, into) {
                    $(($ask::$name(q), $answer::$name(a)) => $crate::engine::Fold::<$block>::add(q, block, a),)*
                    #[allow(unreachable_patterns)]
                    _ => debug_assert!(false, "the answer to another question"),
                }
            }

            fn merge(&self, other: &$answer, into: &mut $answer) {
                match (self, other, into) {
                    $(($ask::$name(q), $answer::$name(o), $answer::$name(a)) => {
                        $crate::engine::Fold::<$block>::merge(q, o, a)
                    })*
                    #[allow(unreachable_patterns)]
                    _ => debug_assert!(false, "the answer to another question"),
                }
            }

            fn spent(&self, partial: &mut $answer) {
                match (self, partial) {
                    $(($ask::$name(q), $answer::$name(a)) => $crate::engine::Fold::<$block>::spent(q, a),)*
                    #[allow(unreachable_patterns)]
                    _ => debug_assert!(false, "the answer to another question"),
                }
            }

            fn finish(&self, answer: &mut $answer) {
                match (self, answer) {
                    $(($ask::$name(q), $answer::$name(a)) => $crate::engine::Fold::<$block>::finish(q, a),)*
                    #[allow(unreachable_patterns)]
                    _ => debug_assert!(false, "the answer to another question"),
                }
            }
        }

        $(impl $crate::engine::Member<$ask, $answer> for $question {
            type Own = <$question as $crate::engine::Fold<$block>>::Partial;

            fn listed(self) -> $ask {
                $ask::$name(self)
            }

            fn own(answer: $answer) -> Option<Self::Own> {
                match answer {
                    $answer::$name(own) => Some(own),
                    #[allow(unreachable_patterns)]
                    _ => None,
                }
            }
        })*
    };
}

pub(crate) use questions;
