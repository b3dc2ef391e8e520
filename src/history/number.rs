//! Dense numbers of what a history or a checker counts, as types of their own.

/// Declares a number that indexes vectors. It has no arithmetic: a transaction is no key, and the
/// next transaction is none that anything follows from.
macro_rules! number {
    ($(#[$about:meta])* $visibility:vis $name:ident) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        $visibility struct $name(u32);

        impl $name {
            /// The one of this number.
            #[inline]
            $visibility const fn new(number: u32) -> Self {
                Self(number)
            }

            /// The one at this place of a vector.
            #[inline]
            $visibility const fn at(index: usize) -> Self {
                Self(index as u32)
            }

            /// Its number.
            #[inline]
            $visibility const fn number(self) -> u32 {
                self.0
            }

            /// Its place in a vector that has an entry for each.
            #[inline]
            $visibility const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl From<$name> for usize {
            #[inline]
            fn from(one: $name) -> Self {
                one.index()
            }
        }

        impl<T> std::ops::Index<$name> for Vec<T> {
            type Output = T;

            #[inline]
            fn index(&self, at: $name) -> &T {
                &self[at.index()]
            }
        }

        impl<T> std::ops::IndexMut<$name> for Vec<T> {
            #[inline]
            fn index_mut(&mut self, at: $name) -> &mut T {
                &mut self[at.index()]
            }
        }

        impl<T> std::ops::Index<$name> for [T] {
            type Output = T;

            #[inline]
            fn index(&self, at: $name) -> &T {
                &self[at.index()]
            }
        }

        impl<T> std::ops::IndexMut<$name> for [T] {
            #[inline]
            fn index_mut(&mut self, at: $name) -> &mut T {
                &mut self[at.index()]
            }
        }
    };
}

pub(crate) use number;

number!(
    /// A transaction of a history. [`Txn::INITIAL`] gives every key its initial value; the others
    /// are counted from 1 in the order of the file.
    pub Txn
);

number!(
    /// A key of a history, counted from 0 in the order of first appearance.
    pub Key
);

impl Txn {
    /// The initial transaction, which precedes every session.
    pub const INITIAL: Self = Self::new(0);

    /// Whether it is the initial one.
    #[inline]
    pub fn is_initial(self) -> bool {
        self == Self::INITIAL
    }
}
