# frozen_string_literal: true

require_relative "../lifetrace"

module Lifetrace
  # Records a Rack or Rails program for as long as it runs, with one line:
  #
  #   use Lifetrace::Middleware                            # config.ru
  #   config.middleware.use Lifetrace::Middleware          # config/application.rb
  #
  # Profiles go to files (Flusher). With an +endpoint+ they can be fetched as well, from the same machine alone:
  #
  #   use Lifetrace::Middleware, endpoint: "/debug/pprof/heap"
  #   $ go tool pprof http://127.0.0.1:9292/debug/pprof/heap
  class Middleware
    LOOPBACK = /\A(127\.|::1\z|::ffff:127\.)/
    FORWARDED = %w[HTTP_FORWARDED HTTP_X_FORWARDED_FOR HTTP_X_REAL_IP HTTP_VIA].freeze

    private_constant :LOOPBACK, :FORWARDED

    # +endpoint+:: the path at which a profile is answered; nil is none.
    # +flush+:: options of Flusher, or false for no files.
    # All others are those of Lifetrace.start.
    def initialize(app, endpoint: nil, flush: {}, **options)
      @app, @endpoint = app, endpoint
      is_here = Lifetrace.running? || Lifetrace.start(**options) == true
      Flusher.new(**flush).start if flush && is_here && Lifetrace.flushers.empty?
    end

    def call(env)
      return @app.call(env) unless @endpoint && env["PATH_INFO"] == @endpoint && from_here?(env)

      begin
        [200, { "content-type" => "application/octet-stream" }, [Lifetrace.flush.pprof]]
      rescue Error => error
        [503, { "content-type" => "text/plain" }, ["#{error.message}\n"]]
      end
    end

    private

    # Not from elsewhere, by way of a proxy on this machine either.
    def from_here?(env)
      LOOPBACK.match?(env["REMOTE_ADDR"].to_s) && FORWARDED.none? { |header| env.key?(header) }
    end
  end
end
