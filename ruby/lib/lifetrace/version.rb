# frozen_string_literal: true

module Lifetrace
  VERSION = "0.2.0"
end
