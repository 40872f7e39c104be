# frozen_string_literal: true

module Lifetrace
  VERSION = "0.1.0"
end
