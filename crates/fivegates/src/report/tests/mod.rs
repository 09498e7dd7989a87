mod commands;
mod odd;
mod real;
mod support;
